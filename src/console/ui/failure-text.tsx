import { useWords } from '../console-parts.js';
import type { Failure } from '../request.js';
import { dictionary } from '../words/language.js';

const WORDS = dictionary({
  en: {
    noAnswer: 'The gateway does not answer.',
    unknown: 'That failed.',
    codes: {
      'invalid-request': 'Something in it is not valid.',
      forbidden: 'This token may not do that.',
      'store-unavailable': 'The gateway cannot store anything at the moment. Please try again.',
      'too-many-requests': 'Too many requests. Please try again in a moment.',
      'location-has-devices': 'There are devices still in this home. Move or delete them first.',
      'group-has-rooms': 'There are rooms still in this group. Move or delete them first.',
      'room-has-devices': 'There are devices still in this room. Move or delete them first.',
      'precondition-failed': 'Somebody else has changed this meanwhile. Look at it again first.',
    },
    retry: 'Try again',
  },
  de: {
    noAnswer: 'Das Gateway antwortet nicht.',
    unknown: 'Das ist fehlgeschlagen.',
    codes: {
      'invalid-request': 'Etwas darin ist nicht gültig.',
      forbidden: 'Dieser Token darf das nicht.',
      'store-unavailable':
        'Das Gateway kann zurzeit nichts speichern. Bitte versuchen Sie es noch einmal.',
      'too-many-requests': 'Zu viele Anfragen. Bitte versuchen Sie es gleich noch einmal.',
      'location-has-devices':
        'In diesem Heim sind noch Geräte. Verschieben oder löschen Sie sie zuerst.',
      'group-has-rooms':
        'In dieser Gruppe sind noch Zimmer. Verschieben oder löschen Sie sie zuerst.',
      'room-has-devices':
        'In diesem Zimmer sind noch Geräte. Verschieben oder löschen Sie sie zuerst.',
      'precondition-failed':
        'Das hat inzwischen jemand anderes geändert. Sehen Sie es sich zuerst noch einmal an.',
    },
    retry: 'Noch einmal versuchen',
  },
});

interface FailureTextProps {
  readonly failure: Failure | undefined;
  readonly onRetry?: (() => void) | undefined;
}

/** Tells what went wrong: in the user's language if we have the words, otherwise in the gateway's words. */
export function FailureText({ failure, onRetry }: FailureTextProps) {
  const words = useWords(WORDS);
  if (failure === undefined) return null;
  const { code, detail, errors } = failure;
  const known = Object.entries(words.codes).find(([one]) => one === code)?.[1];
  const text = code === 'no-answer' ? words.noAnswer : (known ?? detail ?? words.unknown);
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
          {words.retry}
        </button>
      )}
    </div>
  );
}
