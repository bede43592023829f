import { t } from '../language.js';
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
