import { locale, t } from '../../../language.js';
import type { Unit } from './alarm-counts.js';

export const unitNames = () => ({ hour: t('Hour', 'Stunde'), day: t('Day', 'Tag') });

/** An hour or a day in words: `Mon, 23 Nov, 14:00`. */
export function bucketName(startMs: number, unit: Unit): string {
  const format = new Intl.DateTimeFormat(locale(), {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    ...(unit === 'hour' ? { hour: '2-digit', minute: '2-digit' } : { year: 'numeric' }),
  });
  return format.format(startMs);
}

/** A short form for the axis, where there is little room: the hour, or the date at the start of a day. */
export function axisLabel(startMs: number, unit: Unit): string {
  const isHour = unit === 'hour' && new Date(startMs).getHours() !== 0;
  const format = new Intl.DateTimeFormat(
    locale(),
    isHour ? { hour: '2-digit', minute: '2-digit' } : { day: 'numeric', month: 'short' },
  );
  return format.format(startMs);
}
