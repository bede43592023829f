/** Small parts that every page uses: failures in words, times, facts, the choice of language and colours. */

import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type StoredChoice, themeChoice } from '../kept.js';
import { ago, dateTime, languageChoice, t } from '../language.js';
import { live } from '../live.js';
import type { Failure } from '../request.js';

/** Advice to the user on each problem, by its code. */
const problemTexts = (): Readonly<Record<string, string>> => ({
  'invalid-request': t('Something in it is not valid.', 'Etwas darin ist nicht gültig.'),
  forbidden: t('This token may not do that.', 'Dieser Token darf das nicht.'),
  'store-unavailable': t(
    'The gateway cannot store anything at the moment. Please try again.',
    'Das Gateway kann zurzeit nichts speichern. Bitte versuchen Sie es noch einmal.',
  ),
  'too-many-requests': t(
    'Too many requests. Please try again in a moment.',
    'Zu viele Anfragen. Bitte versuchen Sie es gleich noch einmal.',
  ),
  'location-has-devices': t(
    'There are devices still in this home. Move or delete them first.',
    'In diesem Heim sind noch Geräte. Verschieben oder löschen Sie sie zuerst.',
  ),
  'group-has-rooms': t(
    'There are rooms still in this group. Move or delete them first.',
    'In dieser Gruppe sind noch Zimmer. Verschieben oder löschen Sie sie zuerst.',
  ),
  'room-has-devices': t(
    'There are devices still in this room. Move or delete them first.',
    'In diesem Zimmer sind noch Geräte. Verschieben oder löschen Sie sie zuerst.',
  ),
  'precondition-failed': t(
    'Somebody else has changed this meanwhile. Look at it again first.',
    'Das hat inzwischen jemand anderes geändert. Sehen Sie es sich zuerst noch einmal an.',
  ),
});

interface FailureTextProps {
  readonly failure: Failure | undefined;
  readonly onRetry?: (() => void) | undefined;
}

/** Tells what went wrong: in the user's language if we have the words, otherwise in the gateway's words. */
export function FailureText({ failure, onRetry }: FailureTextProps) {
  if (failure === undefined) return null;
  const { code, detail, errors } = failure;
  const text =
    code === 'no-answer'
      ? t('The gateway does not answer.', 'Das Gateway antwortet nicht.')
      : (problemTexts()[code] ?? detail ?? t('That failed.', 'Das ist fehlgeschlagen.'));
  return (
    <div class="failure" role="alert">
      {text}
      {errors.length > 0 && (
        <ul>
          {errors.map(({ path, message }) => (
            <li key={path}>{path === '' ? message : `${path}: ${message}`}</li>
          ))}
        </ul>
      )}{' '}
      {onRetry !== undefined && (
        <button type="button" onClick={onRetry}>
          {t('Try again', 'Noch einmal versuchen')}
        </button>
      )}
    </div>
  );
}

const MINUTE_MS = 60_000;

/** How long ago something was, kept up to date, with its exact time as a tooltip. */
export function TimeAgo({ at }: { readonly at: string }) {
  const [nowMs, setNowMs] = useState(live.clock.now());
  const atMs = Date.parse(at);
  useEffect(() => {
    const isOld = nowMs - atMs >= MINUTE_MS;
    const timer = setTimeout(() => setNowMs(live.clock.now()), isOld ? MINUTE_MS / 2 : 1_000);
    return () => clearTimeout(timer);
  }, [nowMs, atMs]);
  return (
    <time dateTime={at} title={dateTime(at)}>
      {ago(atMs, nowMs)}
    </time>
  );
}

interface SinceProps {
  /** Null if that is not known. */
  readonly at: string | null;
  readonly isGood?: boolean;
  readonly children: ComponentChildren;
}

/** A state in words, and how long ago it began. */
export function Since({ at, isGood = false, children }: SinceProps) {
  return (
    <>
      <span class={isGood ? 'good' : 'bad'}>{children}</span>
      {at !== null && (
        <>
          , <TimeAgo at={at} />
        </>
      )}
    </>
  );
}

/** The name of a fact and its value; a fact without a value is left out. */
export type Fact = readonly [name: string, value: ComponentChildren];

/** Facts, one below the other. */
export function Facts({ of }: { readonly of: readonly Fact[] }) {
  return (
    <dl class="facts">
      {of.map(
        ([name, value]) =>
          value !== undefined &&
          value !== null && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

const themeNames = () => ({
  auto: t('As the device', 'Wie das Gerät'),
  light: t('Light', 'Hell'),
  dark: t('Dark', 'Dunkel'),
});

/** Language and colours, chosen for this device. */
export function Preferences() {
  return (
    <span class="row">
      <StoredSelect
        label={t('Language', 'Sprache')}
        choice={languageChoice}
        names={{ en: 'English', de: 'Deutsch' }}
        isOfLanguages
      />
      <StoredSelect label={t('Colours', 'Farben')} choice={themeChoice} names={themeNames()} />
    </span>
  );
}

interface StoredSelectProps<Value extends string> {
  readonly label: string;
  readonly choice: StoredChoice<Value>;
  readonly names: Readonly<Record<Value, string>>;
  /** Whether each name is in the language that it names. */
  readonly isOfLanguages?: boolean;
}

function StoredSelect<Value extends string>(props: StoredSelectProps<Value>) {
  const { label, choice, names, isOfLanguages = false } = props;
  return (
    <select
      aria-label={label}
      value={choice.current.value}
      onChange={({ currentTarget }) => choice.choose(currentTarget.value)}
    >
      {choice.values.map((value) => (
        <option key={value} value={value} lang={isOfLanguages ? value : undefined}>
          {names[value]}
        </option>
      ))}
    </select>
  );
}
