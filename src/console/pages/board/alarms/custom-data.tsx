import { t } from '../../../language.js';
import { exactJson, plainText } from '../../../request.js';

interface CustomDataProps {
  readonly values: Readonly<Record<string, unknown>>;
}

/** The device's custom data, one member per line. */
export function CustomData({ values }: CustomDataProps) {
  const members = Object.entries(values);
  if (members.length === 0) return null;
  const textOf = (value: unknown): string => {
    if (typeof value === 'string') return plainText(value);
    if (typeof value === 'boolean') return value ? t('yes', 'ja') : t('no', 'nein');
    if (value === null) return '–';
    if (Array.isArray(value) && value.every(isPlain)) return value.map(textOf).join(', ');
    return exactJson(value);
  };
  return (
    <dl class="board-custom-data">
      {members.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{textOf(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function isPlain(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}
