import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../../language.js';

interface PageButtonsProps {
  readonly hasPrevious: boolean;
  readonly hasNext: boolean;
  readonly onPrevious: () => void;
  readonly onNext: () => void;
  /** Tells which page it is. */
  readonly children?: ComponentChildren;
}

/** The buttons for the previous and the next page. */
export function PageButtons(props: PageButtonsProps) {
  const { hasPrevious, hasNext, onPrevious, onNext, children } = props;
  return (
    <div class="gateway-pages">
      <PageButton isThere={hasPrevious} onPress={onPrevious}>
        {t('Previous page', 'Vorige Seite')}
      </PageButton>
      {children}
      <PageButton isThere={hasNext} onPress={onNext}>
        {t('Next page', 'Nächste Seite')}
      </PageButton>
    </div>
  );
}

interface PageButtonProps {
  readonly isThere: boolean;
  readonly onPress: () => void;
  readonly children: ComponentChildren;
}

function PageButton({ isThere, onPress, children }: PageButtonProps) {
  return (
    <button type="button" aria-disabled={!isThere} onClick={isThere ? onPress : undefined}>
      {children}
    </button>
  );
}

/** The current page of a list for which the gateway returns a cursor to the next page. */
interface CursorPages {
  readonly page: number;
  /** Of the pages after the first that have been shown. */
  readonly cursors: readonly string[];
  readonly show: (page: number, cursors: readonly string[]) => void;
  /** Of the current page; undefined for the first. */
  readonly cursor: string | undefined;
}

export function useCursorPages(): CursorPages {
  const [page, setPage] = useState(0);
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const show: CursorPages['show'] = (shown, known) => {
    setPage(shown);
    setCursors(known);
  };
  return { page, cursors, show, cursor: cursors[page - 1] };
}

interface CursorButtonsProps {
  readonly pages: CursorPages;
  /** From the current page; null for the last page, undefined while it is being read. */
  readonly nextCursor: string | null | undefined;
}

/** The buttons of such pages; none if there is only one page. */
export function CursorButtons({ pages, nextCursor }: CursorButtonsProps) {
  const { page, cursors, show } = pages;
  if (cursors.length === 0 && typeof nextCursor !== 'string') return null;
  return (
    <PageButtons
      hasPrevious={page > 0}
      hasNext={typeof nextCursor === 'string'}
      onPrevious={() => show(page - 1, cursors)}
      onNext={() => {
        if (typeof nextCursor === 'string') show(page + 1, [...cursors.slice(0, page), nextCursor]);
      }}
    />
  );
}
