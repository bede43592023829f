/**
 * The place in the console, which comes after the `#` of the address: `#/history?kinds=fall` has the path `/history`
 * and a query.
 *
 * A server never sees that part: no path of the console can be mistaken for a path of the HTTP interface, and a secret
 * in it reaches no log.
 */

import { type ReadonlySignal, signal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';

export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

const current = signal<Place>(placeOf(''));
export const place: ReadonlySignal<Place> = current;

/** Questions to answer before the place is left. */
const questions = new Set<string>();
let hash = '';

/** Follows the address of the page. */
export function followAddress(): void {
  take();
  addEventListener('hashchange', () => {
    if (location.hash === hash) return;
    if (mayLeave()) take();
    else history.replaceState(null, '', hash);
  });
  addEventListener('beforeunload', (event) => {
    if (questions.size > 0) event.preventDefault();
  });
}

function take(): void {
  hash = location.hash;
  current.value = placeOf(hash);
}

function placeOf(text: string): Place {
  const [path = '', search = ''] = text.replace(/^#/, '').split('?', 2);
  return { path: path === '' ? '/' : path, query: new URLSearchParams(search) };
}

type Query = Readonly<Record<string, string>>;

/** Goes to a place without asking; the browser's back button returns. */
export function goTo(path: string, query?: Query): void {
  location.hash = hrefTo(path, query);
  take();
}

/** Replaces the current place, which the back button then skips. */
export function replacePlace(path: string, query?: Query): void {
  history.replaceState(null, '', hrefTo(path, query));
  take();
}

/** Asks what is to be asked. @returns whether the user may leave */
export function mayLeave(): boolean {
  return [...questions].every((question) => confirm(question));
}

/**
 * Asks before the user leaves the place by a link, the back button or otherwise, while something would be lost.
 *
 * @param question undefined: nothing would be lost
 */
export function useKeptPlace(question: string | undefined): void {
  // An effect after the next frame would be too late for somebody who leaves at once.
  useLayoutEffect(() => {
    if (question === undefined) return;
    questions.add(question);
    return () => questions.delete(question);
  }, [question]);
}

/** The page of a path: `home` for `/home/rooms`; the rest is a place within it. */
export function pageOf(path: string): string {
  return path.split('/')[1] ?? '';
}

/** The `href` of a link to a place in the console. */
export function hrefTo(path: string, query: Query = {}): string {
  const search = new URLSearchParams(query).toString();
  return search === '' ? `#${path}` : `#${path}?${search}`;
}
