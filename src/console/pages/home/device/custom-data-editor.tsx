import { useEffect, useId, useState } from 'preact/hooks';
import { getCustomData, setCustomData } from '../../../api.js';
import { t } from '../../../language.js';
import { useKeptPlace } from '../../../place.js';
import type { Tagged } from '../../../request.js';
import { FailureText } from '../../../ui/bits.js';
import { useChange, useLoaded } from '../../../ui/load.js';
import { useOnReturn } from '../home-data.js';
import {
  byteCount,
  type CustomDataFault,
  customDataFault,
  MAX_CUSTOM_DATA_BYTES,
} from './custom-data.js';

interface CustomDataEditorProps {
  readonly locationId: string;
  readonly deviceId: string;
  readonly mayChange: boolean;
}

/** A device's custom data, shown and sent as text. */
export function CustomDataEditor({ locationId, deviceId, mayChange }: CustomDataEditorProps) {
  const key = { locationId, deviceId };
  const stored = useLoaded(() => getCustomData(key), [locationId, deviceId]);
  useOnReturn(stored.again);
  return (
    <section aria-label={t('Custom data', 'Eigene Daten')}>
      <h2>{t('Custom data', 'Eigene Daten')}</h2>
      <FailureText failure={stored.failure} onRetry={stored.again} />
      {stored.data !== undefined && !mayChange && <pre class="home-json">{stored.data.text}</pre>}
      {stored.data !== undefined && mayChange && (
        <Editor
          stored={stored.data}
          keyOfDevice={key}
          onSaved={stored.take}
          onStale={stored.again}
        />
      )}
    </section>
  );
}

interface EditorProps {
  readonly stored: Tagged;
  readonly keyOfDevice: { readonly locationId: string; readonly deviceId: string };
  readonly onSaved: (stored: Tagged) => void;
  /** Called when someone else has stored something meanwhile. */
  readonly onStale: () => void;
}

function Editor({ stored, keyOfDevice, onSaved, onStale }: EditorProps) {
  const hintId = useId();
  // Undefined: unchanged, so it shows what is stored, even when someone else changes it.
  const [typed, setTyped] = useState<Tagged>();
  const [isSaved, setSaved] = useState(false);
  const change = useChange();
  const { text, tag } = typed ?? stored;
  const fault = customDataFault(text);
  const maySave = typed !== undefined && fault === undefined;
  useKeptPlace(
    typed !== undefined && text !== stored.text
      ? t(
          'The custom data is not saved. Leave all the same? Your changes would be lost.',
          'Eigene Daten: nicht gespeichert. Trotzdem verlassen? Ihre Änderungen gingen verloren.',
        )
      : undefined,
  );
  const isStale = change.failure?.code === 'precondition-failed';
  useEffect(() => {
    if (isStale) onStale();
  }, [isStale, onStale]);
  const save = (baseTag = tag) => {
    if (!maySave) return;
    change.send(
      () => setCustomData(keyOfDevice, text, baseTag),
      (saved) => {
        // Text typed since then is not saved yet.
        setTyped((now) => (now?.text === text ? undefined : now && { ...now, tag: saved.tag }));
        setSaved(true);
        onSaved(saved);
      },
    );
  };
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <textarea
        class="home-json"
        aria-label={t('Custom data', 'Eigene Daten')}
        aria-describedby={hintId}
        aria-invalid={fault !== undefined}
        rows={Math.min(12, Math.max(3, text.split('\n').length))}
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => {
          setTyped({ text: currentTarget.value, tag });
          setSaved(false);
        }}
      />
      <p id={hintId} class="hint">
        {t(
          'A JSON object that goes along with every message of this device.',
          'Ein JSON-Objekt, das mit jeder Nachricht dieses Geräts mitgeht.',
        )}{' '}
        {t(
          `${byteCount(text)} of ${MAX_CUSTOM_DATA_BYTES} bytes`,
          `${byteCount(text)} von ${MAX_CUSTOM_DATA_BYTES} Byte`,
        )}
      </p>
      <p role="status" class={fault === undefined ? 'hint' : 'home-fault'}>
        {fault !== undefined && <FaultText fault={fault} />}
        {isSaved && t('Saved.', 'Gespeichert.')}
      </p>
      {typed !== undefined && <FailureText failure={change.failure} />}
      {isStale && tag !== stored.tag && (
        <>
          <p>{t('This is stored now:', 'Gespeichert ist jetzt:')}</p>
          <pre class="home-json">{stored.text}</pre>
          <button type="button" aria-disabled={!maySave} onClick={() => save(stored.tag)}>
            {t('Save mine instead', 'Meine stattdessen speichern')}
          </button>
        </>
      )}
      <div class="buttons">
        <button type="submit" class="primary" aria-disabled={!maySave || change.isPending}>
          {t('Save', 'Speichern')}
        </button>
        {typed !== undefined && (
          <button type="button" onClick={() => setTyped(undefined)}>
            {t('Discard the changes', 'Änderungen verwerfen')}
          </button>
        )}
      </div>
    </form>
  );
}

function FaultText({ fault }: { readonly fault: CustomDataFault }) {
  switch (fault.type) {
    case 'too-large':
      return <>{t('This is too large.', 'Das ist zu groß.')}</>;
    case 'not-object':
      return (
        <>
          {t(
            'This must be an object, in curly brackets.',
            'Das muss ein Objekt sein, in geschweiften Klammern.',
          )}
        </>
      );
    case 'not-json':
      return <>{t('This is not valid JSON.', 'Das ist kein gültiges JSON.')}</>;
    case 'not-json-at':
      return (
        <>
          {t(
            `This is not valid JSON: see line ${fault.line}, character ${fault.column}.`,
            `Das ist kein gültiges JSON: siehe Zeile ${fault.line}, Zeichen ${fault.column}.`,
          )}
        </>
      );
  }
}
