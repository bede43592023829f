import { useEffect, useRef, useState } from 'preact/hooks';
import { formatBytes, language, t } from '../../../language.js';
import { type Failure, failureOf } from '../../../request.js';
import { FailureText } from '../../../ui/bits.js';
import { SEPARATORS } from '../../../ui/csv.js';
import { saveFile } from '../../../ui/handover.js';
import type { AlarmSearch } from '../history-search.js';
import { readCsv } from './read-csv.js';

type Download =
  | { readonly step: 'none' }
  | { readonly step: 'reading' | 'done'; readonly bytes: number }
  | { readonly step: 'failed'; readonly failure: Failure };

/** Downloads all alarms of the search as one file for a spreadsheet. */
export function CsvDownload({ search }: { readonly search: AlarmSearch }) {
  const [download, setDownload] = useState<Download>({ step: 'none' });
  const stopping = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => stopping.current?.abort(), []);
  const start = async () => {
    const controller = new AbortController();
    stopping.current = controller;
    const { signal } = controller;
    setDownload({ step: 'reading', bytes: 0 });
    try {
      const onBytes = (bytes: number) => setDownload({ step: 'reading', bytes });
      const separator = SEPARATORS[language.peek()];
      const file = await readCsv(search, separator, signal, onBytes);
      saveFile('alarms.csv', file);
      setDownload({ step: 'done', bytes: file.size });
    } catch (error) {
      setDownload(
        signal.aborted ? { step: 'none' } : { step: 'failed', failure: failureOf(error) },
      );
    }
  };
  const size = 'bytes' in download ? formatBytes(download.bytes) : '';
  return (
    <div class="history-csv">
      {download.step === 'reading' ? (
        <button type="button" onClick={() => stopping.current?.abort()}>
          {t('Cancel', 'Abbrechen')}
        </button>
      ) : (
        <button type="button" onClick={() => void start()}>
          {t('Download as CSV', 'Als CSV herunterladen')}
        </button>
      )}
      <span role="status">
        {download.step === 'reading' && t(`${size} read`, `${size} gelesen`)}
        {download.step === 'done' && t(`Downloaded, ${size}`, `Heruntergeladen, ${size}`)}
      </span>
      {download.step === 'failed' && <FailureText failure={download.failure} />}
    </div>
  );
}
