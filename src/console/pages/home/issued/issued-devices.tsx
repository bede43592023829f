import { useEffect, useState } from 'preact/hooks';
import { t } from '../../../language.js';
import { useKeptPlace } from '../../../place.js';
import { focusHeading } from '../../../shell.js';
import { FailureText } from '../../../ui/bits.js';
import { CopiedText, QrCode } from '../../../ui/handover.js';
import { useLoaded } from '../../../ui/load.js';
import type { IssuedDevice } from './issue-device.js';
import { readMqttPorts } from './mqtt-ports.js';
import {
  isLocalAddress,
  type MqttAddress,
  mqttAddress,
  setupText,
  USUAL_PORTS,
} from './setup-text.js';

interface IssuedDevicesProps {
  readonly devices: readonly IssuedDevice[];
  readonly homeName: string;
  /** Saves the ids and secrets as a file, for many devices. */
  readonly onDownload?: (() => void) | undefined;
  readonly onDone: () => void;
}

/** Ids and secrets of new devices, shown only once: as text, as QR codes, and as labels to print. */
export function IssuedDevices({ devices, homeName, onDownload, onDone }: IssuedDevicesProps) {
  const [typed, setTyped] = useState(location.hostname);
  const [isTls, setTls] = useState(location.protocol === 'https:');
  const read = useLoaded(readMqttPorts, []);
  const ports = read.failure === undefined ? read.data : USUAL_PORTS;
  const isOne = devices.length === 1;
  useEffect(() => {
    focusHeading();
    // Waits until the page behind it is shown again.
    return () => void setTimeout(focusHeading);
  }, []);
  useKeptPlace(
    t(
      'The secrets are not shown again. Leave all the same?',
      'Die Geheimnisse werden nicht noch einmal gezeigt. Trotzdem verlassen?',
    ),
  );
  return (
    <>
      <div class="home-noprint form">
        <h1>
          {isOne
            ? t('Set up the device', 'Gerät einrichten')
            : t(`Set up ${devices.length} devices`, `${devices.length} Geräte einrichten`)}
        </h1>
        <p role="status">
          <strong>
            {isOne
              ? t(
                  'The secret is shown this once. Print it, or write it down, before you leave this page.',
                  'Das Geheimnis wird nur dieses eine Mal gezeigt. Drucken oder notieren Sie es, bevor Sie die Seite verlassen.',
                )
              : t(
                  'The secrets are shown this once. Print them, or download them, before you leave this page.',
                  'Die Geheimnisse werden nur dieses eine Mal gezeigt. Drucken Sie sie, oder laden Sie sie herunter, bevor Sie die Seite verlassen.',
                )}
          </strong>
        </p>
        {devices.map(({ id, name, moveFailure }) =>
          moveFailure === undefined ? null : (
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
        <label class="home-address">
          {t(
            'Address of the gateway, as devices reach it',
            'Adresse des Gateways, wie die Geräte es erreichen',
          )}
          <input
            value={typed}
            autocomplete="off"
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          />
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
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={isTls}
            onChange={({ currentTarget }) => setTls(currentTarget.checked)}
          />
          {t('Devices connect over TLS', 'Geräte verbinden sich über TLS')}
        </label>
        <div class="buttons">
          <button type="button" class="primary" onClick={() => print()}>
            {t('Print labels', 'Etiketten drucken')}
          </button>
          {onDownload !== undefined && (
            <button type="button" onClick={onDownload}>
              {t('Download as CSV', 'Als CSV herunterladen')}
            </button>
          )}
          <button type="button" onClick={onDone}>
            {t('Done', 'Fertig')}
          </button>
        </div>
      </div>
      {ports !== undefined && (
        <ul class="home-labels">
          {devices.map((device) => (
            <Label
              key={device.id}
              device={device}
              homeName={homeName}
              address={mqttAddress(typed, isTls, ports)}
            />
          ))}
        </ul>
      )}
    </>
  );
}

interface LabelProps {
  readonly device: IssuedDevice;
  readonly homeName: string;
  readonly address: MqttAddress;
}

function Label({ device, homeName, address }: LabelProps) {
  const { id, name, secret, roomName } = device;
  return (
    <li class="home-label">
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
