/**
 * Fills in a configuration file of the recipe, as a technician would.
 *
 * @throws Error when the file no longer has such a line
 */
export function fillIn(text: string, changes: readonly (readonly [RegExp, string])[]): string {
  return changes.reduce((filled, [line, replacement]) => {
    if (!line.test(filled)) throw new Error(`the recipe has no ${line}`);
    return filled.replace(line, replacement);
  }, text);
}
