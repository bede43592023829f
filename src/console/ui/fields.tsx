/** Fields of forms, each with its label: a line of text, a choice, a box to tick. */

import { type ComponentChildren, h } from 'preact';
import { useId, useRef } from 'preact/hooks';
import { t } from '../language.js';

interface TextProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly type?: 'text' | 'password' | 'url' | 'number' | 'datetime-local';
  readonly required?: boolean;
  readonly autofocus?: boolean;
  readonly autocomplete?: 'current-password';
  readonly maxLength?: number;
  readonly min?: number;
  readonly max?: number;
  readonly placeholder?: string;
  /** Below the field, inside of its label. */
  readonly children?: ComponentChildren;
}

/** A line of text. */
export function Text({ label, value, onChange, children, ...attributes }: TextProps) {
  const id = useId();
  // Browsers themselves heed `autofocus` only as a page or a dialog opens.
  const takeFocus = useRef((input: HTMLInputElement | null) => input?.focus());
  const input = h('input', {
    ...attributes,
    ref: attributes.autofocus === true ? takeFocus.current : undefined,
    autocomplete: attributes.autocomplete ?? 'off',
    id,
    value,
    onInput: ({ currentTarget }) => onChange(currentTarget.value),
  });
  return (
    <label htmlFor={id}>
      {label}
      {input}
      {children}
    </label>
  );
}

/** The name of a home, a group, a room, a device or a token. */
export function NameText({ value, onChange }: Pick<TextProps, 'value' | 'onChange'>) {
  return <Text label={t('Name', 'Name')} required autofocus value={value} onChange={onChange} />;
}

/** A value to choose, and its text; those of one group stand under its name. */
export type Option<Value extends string> = readonly [value: Value, text: string, group?: string];

interface ChoiceProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  /** Options of one group are next to each other. */
  readonly options: readonly Option<Value>[];
  readonly onChange: (value: Value) => void;
  readonly isLabelHidden?: boolean;
}

/** One of several values. */
export function Choice<Value extends string>(props: ChoiceProps<Value>) {
  const { label, value, options, onChange, isLabelHidden = false } = props;
  const id = useId();
  const groups = [...new Set(options.map(([, , group]) => group))];
  const choose = (text: string) => {
    const chosen = options.find(([one]) => one === text);
    if (chosen !== undefined) onChange(chosen[0]);
  };
  const select = (
    <select
      id={id}
      aria-label={isLabelHidden ? label : undefined}
      value={value}
      onChange={({ currentTarget }) => choose(currentTarget.value)}
    >
      {groups.map((group) => {
        const drawn = options.flatMap(([one, text, of]) =>
          of === group ? (
            <option key={one} value={one}>
              {text}
            </option>
          ) : (
            []
          ),
        );
        return group === undefined ? (
          drawn
        ) : (
          <optgroup key={group} label={group}>
            {drawn}
          </optgroup>
        );
      })}
    </select>
  );
  if (isLabelHidden) return select;
  return (
    <label htmlFor={id}>
      {label}
      {select}
    </label>
  );
}

interface CheckProps {
  readonly isChecked: boolean;
  readonly onChange: (isChecked: boolean) => void;
  readonly children: ComponentChildren;
}

/** A box to tick. */
export function Check({ isChecked, onChange, children }: CheckProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={isChecked}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      {children}
    </label>
  );
}
