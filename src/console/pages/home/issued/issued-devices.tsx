import { useEffect, useState } from 'preact/hooks';
import { useWords } from '../../../console-parts.js';
import { focusHeading } from '../../../page-focus.js';
import { CopiedText } from '../../../ui/copied-text.js';
import { FailureText } from '../../../ui/failure-text.js';
import { QrCode } from '../../../ui/qr-code.js';
import { useLoaded } from '../../../ui/use-request.js';
import { useKeptPage } from '../use-kept-page.js';
import type { IssuedDevice } from './issue-device.js';
import { ISSUED_WORDS } from './issued-words.js';
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
  const words = useWords(ISSUED_WORDS);
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
  useKeptPage(words.leave);
  return (
    <>
      <div class="home-noprint form">
        <h1>{isOne ? words.titleOne : words.titleMany(devices.length)}</h1>
        <p role="status">
          <strong>{isOne ? words.once : words.onceMany}</strong>
        </p>
        {devices.map(({ id, name, moveFailure }) =>
          moveFailure === undefined ? null : (
            <div key={id}>
              <p>{words.notMoved(name)}</p>
              <FailureText failure={moveFailure} />
            </div>
          ),
        )}
        <label class="home-address">
          {words.address}
          <input
            value={typed}
            autocomplete="off"
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          />
          <span class="hint">{isLocalAddress(typed) ? words.localAddress : words.addressHint}</span>
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={isTls}
            onChange={({ currentTarget }) => setTls(currentTarget.checked)}
          />
          {words.tls}
        </label>
        <div class="buttons">
          <button type="button" class="primary" onClick={() => print()}>
            {words.print}
          </button>
          {onDownload !== undefined && (
            <button type="button" onClick={onDownload}>
              {words.download}
            </button>
          )}
          <button type="button" onClick={onDone}>
            {words.done}
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
  const words = useWords(ISSUED_WORDS);
  const { id, name, secret, roomName } = device;
  return (
    <li class="home-label">
      <QrCode text={setupText({ ...address, deviceId: id, secret })} label={words.qrCode(name)} />
      <div>
        <strong>{name}</strong>
        <span>
          {homeName} · {roomName ?? words.noRoom}
        </span>
        <span>
          {`${address.host}:${address.mqttPort}`}
          {address.tls && ' · TLS'}
        </span>
        <span class="hint">{words.id}</span>
        <CopiedText text={id} label={words.copyId(name)} />
        <span class="hint">{words.secret}</span>
        <CopiedText text={secret} label={words.copySecret(name)} />
      </div>
    </li>
  );
}
