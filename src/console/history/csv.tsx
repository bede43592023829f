/** All alarms of a search as one file for a spreadsheet. The gateway writes it; the console names file and columns. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { exportAlarms, type Location } from '../api.js';
import { formatBytes, language, t } from '../language.js';
import { live } from '../live.js';
import { type Failure, failureOf } from '../request.js';
import { ALL_HOMES } from '../session.js';
import { FailureText } from '../ui/bits.js';
import { csvSeparator, saveFile } from '../ui/handover.js';
import { type AlarmSearch, alarmQuery, localText } from './search.js';

type Download =
  | { readonly step: 'none' | 'reading' }
  | { readonly step: 'done'; readonly bytes: number }
  | { readonly step: 'failed'; readonly failure: Failure };

interface CsvDownloadProps {
  readonly search: AlarmSearch;
  readonly homes: readonly Location[];
}

/** The button that saves the file. */
export function CsvDownload({ search, homes }: CsvDownloadProps) {
  const [download, setDownload] = useState<Download>({ step: 'none' });
  const stopping = useRef<AbortController>(undefined);
  useEffect(() => () => stopping.current?.abort(), []);
  const start = async () => {
    const controller = new AbortController();
    stopping.current = controller;
    setDownload({ step: 'reading' });
    try {
      const file = await readCsv(search, controller.signal);
      saveFile(fileName(search, homes), file);
      setDownload({ step: 'done', bytes: file.size });
    } catch (error) {
      const isWanted = !controller.signal.aborted;
      setDownload(isWanted ? { step: 'failed', failure: failureOf(error) } : { step: 'none' });
    }
  };
  return (
    <div class="row">
      <span role="status">
        {download.step === 'reading' && t('Reading …', 'Wird gelesen …')}
        {download.step === 'done' &&
          `${t('Downloaded', 'Heruntergeladen')}, ${formatBytes(download.bytes)}`}
      </span>
      {download.step === 'reading' ? (
        <button type="button" onClick={() => stopping.current?.abort()}>
          {t('Cancel', 'Abbrechen')}
        </button>
      ) : (
        <button type="button" onClick={() => void start()}>
          {t('Download as CSV', 'Als CSV herunterladen')}
        </button>
      )}
      {download.step === 'failed' && <FailureText failure={download.failure} />}
    </div>
  );
}

/** Longer than the names of all columns. */
const HEAD_BYTES = 4_096;
const CARRIAGE_RETURN = 13;
/** Tells Excel that the file is UTF-8. */
const BYTE_ORDER_MARK = '\uFEFF';

async function readCsv(search: AlarmSearch, signal: AbortSignal): Promise<Blob> {
  const { locationId } = search;
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  const separator = csvSeparator();
  const at = locationId === ALL_HOMES ? undefined : { locationId };
  const query = { ...alarmQuery(search), footage: 'list', separator, timeZone } as const;
  const file = await (await exportAlarms(at, query, { signal })).blob();
  const head = new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer());
  const end = head.indexOf(CARRIAGE_RETURN);
  // Without the mark, if there is one.
  const names = new TextDecoder().decode(head.subarray(0, end)).split(separator);
  const named = names.map((name) => (language.value === 'de' ? (GERMAN[name] ?? name) : name));
  return new Blob([BYTE_ORDER_MARK, named.join(separator), file.slice(end)], { type: 'text/csv' });
}

/** What the columns are called in German. */
const GERMAN: Readonly<Record<string, string>> = {
  locationId: 'Heim-Kennung',
  locationName: 'Heim',
  id: 'Kennung',
  kind: 'Art',
  detectedAt: 'Erkannt',
  receivedAt: 'Empfangen',
  deviceId: 'Gerät-Kennung',
  deviceName: 'Gerät',
  roomId: 'Zimmer-Kennung',
  roomName: 'Zimmer',
  groupId: 'Gruppe-Kennung',
  groupName: 'Gruppe',
  data: 'Daten des Geräts',
  customData: 'Eigene Daten',
  video: 'Video',
  audio: 'Ton',
  state: 'Stand',
  acknowledgedById: 'Quittiert von (Kennung)',
  acknowledgedByName: 'Quittiert von',
  acknowledgedAt: 'Quittiert um',
  resolvedById: 'Erledigt von (Kennung)',
  resolvedByName: 'Erledigt von',
  resolvedAt: 'Erledigt um',
  note: 'Notiz',
};

/** `alarms-Haus-am-Wald-2026-11-01-2026-11-30.csv`: the home and the days of the search. */
function fileName({ locationId, fromMs, toMs }: AlarmSearch, homes: readonly Location[]): string {
  const home = homes.find(({ id }) => id === locationId)?.name ?? t('all homes', 'alle Heime');
  // The end itself is not in it.
  const days = [fromMs, toMs === undefined ? live.clock.now() : toMs - 1].filter(
    (timeMs) => timeMs !== undefined,
  );
  const parts = ['alarms', home, ...days.map((timeMs) => localText(timeMs).slice(0, 10))];
  // Every system takes letters, digits and hyphens.
  return `${parts.join('-').replaceAll(/[^\p{L}\p{N}]+/gu, '-')}.csv`;
}
