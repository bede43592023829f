/** Ids and secrets of new devices, shown only once: as text, as QR codes, as labels to print, and as a file. */

import { useEffect, useState } from 'preact/hooks';
import { t } from '../language.js';
import { live } from '../live.js';
import { useKeptPlace } from '../place.js';
import { focusHeading } from '../shell.js';
import { FailureText } from '../ui/bits.js';
import { Check, Text } from '../ui/fields.js';
import { CopiedText, csvSeparator, csvText, QrCode, saveFile } from '../ui/handover.js';
import {
  type IssuedDevice,
  isLocalAddress,
  type MqttAddress,
  mqttAddress,
  setupText,
} from './issue.js';

interface IssuedDevicesProps {
  readonly devices: readonly IssuedDevice[];
  readonly homeName: string;
  /** Of the file; that of the language unless the devices came from a file with another. */
  readonly separator?: string;
  readonly onDone: () => void;
}

/** New devices, to be set up. */
export function IssuedDevices({ devices, homeName, separator, onDone }: IssuedDevicesProps) {
  const [typed, setTyped] = useState(location.hostname);
  const [isTls, setTls] = useState(location.protocol === 'https:');
  useEffect(() => {
    focusHeading();
    // Waits until the page behind it is shown again.
    return () => void setTimeout(focusHeading);
  }, []);
  useKeptPlace(
    t(
      'The secrets are not shown again. Leave anyway?',
      'Die Geheimnisse werden nicht noch einmal gezeigt. Trotzdem verlassen?',
    ),
  );
  const save = () => {
    const text = csvText(issuedCells(devices), separator ?? csvSeparator());
    saveFile(fileName(homeName), new Blob([text], { type: 'text/csv;charset=utf-8' }));
  };
  return (
    <>
      <div class="home-noprint form">
        <IssuedHead devices={devices} />
        <div class="home-address">
          <Text
            label={t(
              'Address of the gateway, as devices reach it',
              'Adresse des Gateways, wie die Geräte es erreichen',
            )}
            value={typed}
            onChange={setTyped}
          >
            <span class="hint">
              {isLocalAddress(typed)
                ? t(
                    'Devices cannot reach the gateway under this name. Give its address in their network.',
                    'Unter diesem Namen erreichen die Geräte das Gateway nicht. Geben Sie seine Adresse im Netz der Geräte an.',
                  )
                : t(
                    'With a port if MQTT is on another one than 1883, or 8883 with TLS: gateway.example:18883',
                    'Mit Port, wenn MQTT auf einem anderen als 1883 ist, oder mit TLS 8883: gateway.example:18883',
                  )}
            </span>
          </Text>
        </div>
        <Check isChecked={isTls} onChange={setTls}>
          {t('Devices connect over TLS', 'Geräte verbinden sich über TLS')}
        </Check>
        <div class="row">
          <button type="button" class="primary" onClick={() => print()}>
            {t('Print labels', 'Etiketten drucken')}
          </button>
          <button type="button" onClick={save}>
            {t('Download as CSV', 'Als CSV herunterladen')}
          </button>
          <button type="button" onClick={onDone}>
            {t('Done', 'Fertig')}
          </button>
        </div>
      </div>
      <ul class="home-labels plain">
        {devices.map((device) => (
          <Label
            key={device.id}
            device={device}
            homeName={homeName}
            address={mqttAddress(typed, isTls)}
          />
        ))}
      </ul>
    </>
  );
}

function IssuedHead({ devices }: { readonly devices: readonly IssuedDevice[] }) {
  const isOne = devices.length === 1;
  return (
    <>
      <h1>
        {isOne
          ? t('Set up the device', 'Gerät einrichten')
          : t(`Set up ${devices.length} devices`, `${devices.length} Geräte einrichten`)}
      </h1>
      <p role="status">
        <strong>
          {isOne
            ? t(
                'The secret is shown this once. Print it, download it or write it down before you leave this page.',
                'Das Geheimnis wird nur dieses eine Mal gezeigt. Drucken, speichern oder notieren Sie es, bevor Sie die Seite verlassen.',
              )
            : t(
                'The secrets are shown this once. Print them, or download them, before you leave this page.',
                'Die Geheimnisse werden nur dieses eine Mal gezeigt. Drucken Sie sie, oder laden Sie sie herunter, bevor Sie die Seite verlassen.',
              )}
        </strong>
      </p>
      {devices.map(
        ({ id, name, moveFailure }) =>
          moveFailure !== undefined && (
            <div key={id}>
              <p>
                {t(
                  `${name} was created, but not put into its room.`,
                  `${name} wurde angelegt, aber nicht in das Zimmer gebracht.`,
                )}
              </p>
              <FailureText failure={moveFailure} />
            </div>
          ),
      )}
    </>
  );
}

interface LabelProps {
  readonly device: IssuedDevice;
  readonly homeName: string;
  readonly address: MqttAddress;
}

function Label({ device: { id, name, secret, roomName }, homeName, address }: LabelProps) {
  return (
    <li class="home-label card">
      <QrCode
        text={setupText({ ...address, deviceId: id, secret })}
        label={t(
          `QR code of ${name}: address, port, id and secret`,
          `QR-Code von ${name}: Adresse, Port, ID und Geheimnis`,
        )}
      />
      <div>
        <strong>{name}</strong>
        <span>
          {homeName} · {roomName ?? t('No room', 'Kein Zimmer')}
        </span>
        <span>
          {`${address.host}:${address.mqttPort}`}
          {address.tls && ' · TLS'}
        </span>
        <span class="hint">{t('Device id', 'Geräte-ID')}</span>
        <CopiedText text={id} label={t(`Copy the id of ${name}`, `ID von ${name} kopieren`)} />
        <span class="hint">{t('Secret', 'Geheimnis')}</span>
        <CopiedText
          text={secret}
          label={t(`Copy the secret of ${name}`, `Geheimnis von ${name} kopieren`)}
        />
      </div>
    </li>
  );
}

function issuedCells(devices: readonly IssuedDevice[]): readonly (readonly string[])[] {
  const rows = devices.map(({ name, roomName, id, secret }) => [name, roomName ?? '', id, secret]);
  // Not translated: programs and the console itself read them.
  return [['name', 'room', 'deviceId', 'secret'], ...rows];
}

/** Many file systems allow 255 bytes. */
const MAX_NAME_IN_FILE = 60;

/** Whose devices they are, and of which day: `devices-Haus-am-See-2026-11-29.csv`. */
function fileName(homeName: string): string {
  const home = [...homeName.replaceAll(/[^\p{L}\p{N}]+/gu, '-')]
    .slice(0, MAX_NAME_IN_FILE)
    .join('');
  // Swedes write dates as ISO 8601 does.
  const day = new Date(live.clock.now()).toLocaleDateString('sv-SE');
  return `${t('devices', 'geraete')}-${home}-${day}.csv`;
}
