/** The silence time: how long nothing may come from a device until it counts as silent; for one device, or many at once. */

import { useRef, useState } from 'preact/hooks';
import { type Device, superviseDevice } from '../api.js';
import { locale, number, t } from '../language.js';
import { ChangeDialog } from '../ui/dialog.js';
import { Check, Choice, type Option, Text } from '../ui/fields.js';
import { type Home, HomeRights, sorted } from './home.js';

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const MAX_S = 7 * 24 * HOUR_S;

/** No id of a place. */
const TICKED = 'ticked';

type Unit = 'minute' | 'hour';
const SECONDS = { minute: MINUTE_S, hour: HOUR_S } as const;

/** A silence time in words; that of the gateway's configuration if the device has none of its own. */
export function silenceText({ supervision }: Device): string {
  if (supervision === undefined)
    return t('as the gateway is configured', 'wie im Gateway eingestellt');
  const { unit, amount } = inUnit(supervision.silentAfterSeconds);
  const style = { style: 'unit', unit, unitDisplay: 'long' } as const;
  return new Intl.NumberFormat(locale(), style).format(amount);
}

function inUnit(seconds: number): { readonly unit: Unit; readonly amount: number } {
  const unit = seconds % HOUR_S === 0 ? 'hour' : 'minute';
  return { unit, amount: seconds / SECONDS[unit] };
}

interface SilenceDialogProps {
  readonly home: Home;
  /** Undefined: it offers all that the token manages. */
  readonly device?: Device;
  readonly onChanged: (said: string) => void;
}

/** Sets the silence time of a device, or of those of the home, a group or a room, or of ticked ones. */
export function SilenceDialog({ home, device, onChanged }: SilenceDialogProps) {
  const first = inUnit(device?.supervision?.silentAfterSeconds ?? HOUR_S);
  const [isOwn, setOwn] = useState(device === undefined || device.supervision !== undefined);
  const [amount, setAmount] = useState(String(first.amount));
  const [unit, setUnit] = useState<Unit>(first.unit);
  const [devices, setDevices] = useState<readonly Device[]>(device === undefined ? [] : [device]);
  const [refused, setRefused] = useState<readonly Refused[]>([]);
  /** What a further attempt need not set again. */
  const done = useRef(new Set<Device>());
  const request = async () => {
    const silentAfterSeconds = isOwn ? Number(amount) * SECONDS[unit] : null;
    const left = devices.filter((one) => !done.current.has(one));
    const failed = await setSilence(left, silentAfterSeconds, (one) => done.current.add(one));
    setRefused(failed);
    if (failed[0] !== undefined) throw failed[0].error;
  };
  const changed = (change: () => void) => {
    done.current.clear();
    setRefused([]);
    change();
  };
  return (
    <ChangeDialog
      title={
        device === undefined
          ? t('Silence time', 'Erlaubte Funkstille')
          : t(`Silence time of ${device.name}`, `Erlaubte Funkstille: ${device.name}`)
      }
      submit={t('Save', 'Speichern')}
      isIncomplete={devices.length === 0}
      request={request}
      onDone={() => onChanged(setText(devices.length))}
    >
      <p>
        {t(
          'A device from which nothing has come for this long counts as silent.',
          'Ein Gerät, von dem so lange nichts gekommen ist, gilt als verstummt.',
        )}
      </p>
      {device === undefined && <DevicesChoice home={home} onChange={setDevices} />}
      <Choice
        label={t('Time', 'Zeit')}
        value={isOwn ? 'own' : 'gateway'}
        options={[
          ['own', t('A time of its own', 'Eigene Zeit')],
          ['gateway', t('As the gateway is configured', 'Wie im Gateway eingestellt')],
        ]}
        onChange={(chosen) => changed(() => setOwn(chosen === 'own'))}
      />
      {isOwn && (
        <div class="row">
          <Text
            label={t('Silent after', 'Verstummt nach')}
            type="number"
            required
            min={1}
            max={MAX_S / SECONDS[unit]}
            value={amount}
            onChange={(value) => changed(() => setAmount(value))}
          />
          <Choice
            label={t('Unit', 'Einheit')}
            value={unit}
            options={[
              ['minute', t('Minutes', 'Minuten')],
              ['hour', t('Hours', 'Stunden')],
            ]}
            onChange={(value) => changed(() => setUnit(value))}
          />
        </div>
      )}
      {device === undefined && refused.length > 0 && <RefusedList refused={refused} />}
    </ChangeDialog>
  );
}

const setText = (count: number) =>
  count === 1
    ? t('The silence time was set.', 'Die erlaubte Funkstille ist eingestellt.')
    : t(
        `The silence time of ${number(count)} devices was set.`,
        `Die erlaubte Funkstille ist für ${number(count)} Geräte eingestellt.`,
      );

interface Refused {
  readonly device: Device;
  readonly error: unknown;
}

/** Sets one after the other, also after one that fails. @returns those that failed */
async function setSilence(
  devices: readonly Device[],
  silentAfterSeconds: number | null,
  onDone: (device: Device) => void,
): Promise<readonly Refused[]> {
  const refused: Refused[] = [];
  for (const device of devices) {
    const at = { locationId: device.locationId, deviceId: device.id };
    try {
      await superviseDevice(at, { supervision: { silentAfterSeconds } });
      onDone(device);
    } catch (error) {
      refused.push({ device, error });
    }
  }
  return refused;
}

function RefusedList({ refused }: { readonly refused: readonly Refused[] }) {
  return (
    <div role="alert">
      <p>{t('Not set for these devices:', 'Für diese Geräte nicht eingestellt:')}</p>
      <ul>
        {refused.map(({ device }) => (
          <li key={device.id}>{device.name}</li>
        ))}
      </ul>
    </div>
  );
}

interface DevicesChoiceProps {
  readonly home: Home;
  readonly onChange: (devices: readonly Device[]) => void;
}

/** All devices of the home, a group or a room, or ticked ones, as far as the token manages them. */
function DevicesChoice({ home, onChange }: DevicesChoiceProps) {
  const [chosen, setChosen] = useState('');
  const [ticked, setTicked] = useState<ReadonlySet<Device>>(new Set());
  const rights = new HomeRights(home);
  const devices = sorted(home.devices.filter((device) => rights.mayManageDevice(device)));
  const rooms = new Map(home.rooms.map((room) => [room.id, room]));
  const roomOf = ({ roomId }: Device) => rooms.get(roomId ?? '');
  const chosenBy = (id: string): readonly Device[] => {
    if (id === home.location.id) return devices;
    return devices.filter((device) => roomOf(device)?.id === id || roomOf(device)?.groupId === id);
  };
  const option = (id: string, name: string, kind: string): Option<string> => {
    return [id, `${name} (${number(chosenBy(id).length)})`, kind];
  };
  const offered = [
    option(home.location.id, home.location.name, t('Home', 'Heim')),
    ...rights.targetGroups().map(({ id, name }) => option(id, name, t('Group', 'Gruppe'))),
    ...rights.targetRooms().map(({ id, name }) => option(id, name, t('Room', 'Zimmer'))),
  ].filter(([id]) => chosenBy(id).length > 0);
  const tick = (device: Device, isTicked: boolean) => {
    const others = [...ticked].filter((one) => one !== device);
    const next = isTicked ? [...others, device] : others;
    setTicked(new Set(next));
    onChange(next);
  };
  return (
    <>
      <Choice
        label={t('Devices', 'Geräte')}
        value={chosen}
        options={[
          ['', t('Choose devices', 'Geräte auswählen')],
          [TICKED, t('Those ticked below', 'Unten angekreuzte')],
          ...offered,
        ]}
        onChange={(id) => {
          setChosen(id);
          onChange(id === TICKED ? [...ticked] : chosenBy(id));
        }}
      />
      {chosen === TICKED && (
        <ul class="plain home-ticks">
          {devices.map((device) => (
            <li key={device.id}>
              <Check isChecked={ticked.has(device)} onChange={(isTicked) => tick(device, isTicked)}>
                {[device.name, roomOf(device)?.name].filter(Boolean).join(' · ')}
              </Check>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
