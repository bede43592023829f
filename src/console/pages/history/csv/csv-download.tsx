import { useEffect, useRef, useState } from 'preact/hooks';
import { useConsole, useWords } from '../../../console-parts.js';
import { type Failure, failureOf } from '../../../request.js';
import { SEPARATORS } from '../../../ui/csv.js';
import { FailureText } from '../../../ui/failure-text.js';
import { formatBytes } from '../../../ui/numbers.js';
import { saveFile } from '../../../ui/save-file.js';
import type { AlarmSearch } from '../history-search.js';
import { HISTORY_WORDS } from '../history-words.js';
import { readCsv } from './read-csv.js';

type Download =
  | { readonly step: 'none' }
  | { readonly step: 'reading' | 'done'; readonly bytes: number }
  | { readonly step: 'failed'; readonly failure: Failure };

/** Downloads all alarms of the search as one file for a spreadsheet. */
export function CsvDownload({ search }: { readonly search: AlarmSearch }) {
  const { language } = useConsole();
  const words = useWords(HISTORY_WORDS);
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
      const separator = SEPARATORS[language.current.peek()];
      const file = await readCsv(search, separator, signal, onBytes);
      saveFile('alarms.csv', file);
      setDownload({ step: 'done', bytes: file.size });
    } catch (error) {
      setDownload(
        signal.aborted ? { step: 'none' } : { step: 'failed', failure: failureOf(error) },
      );
    }
  };
  const size = 'bytes' in download ? formatBytes(download.bytes, language.current.value) : '';
  return (
    <div class="history-csv">
      {download.step === 'reading' ? (
        <button type="button" onClick={() => stopping.current?.abort()}>
          {words.cancel}
        </button>
      ) : (
        <button type="button" onClick={() => void start()}>
          {words.csv}
        </button>
      )}
      <span role="status">
        {download.step === 'reading' && words.csvProgress(size)}
        {download.step === 'done' && words.csvDone(size)}
      </span>
      {download.step === 'failed' && <FailureText failure={download.failure} />}
    </div>
  );
}
