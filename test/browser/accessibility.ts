import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { z } from 'zod';

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
);
const findingSchema = z.object({
  id: z.string(),
  nodes: z.array(z.object({ html: z.string(), failureSummary: z.string() })),
});
const resultSchema = z.object({
  violations: z.array(findingSchema),
  incomplete: z.array(findingSchema),
});

/**
 * The WCAG 2.2 AA faults that axe-core finds on the page as shown; every page must have none.
 *
 * @param within a selector of the new part, if the rest has been checked
 */
export async function accessibilityFaults(
  page: Page,
  within = ':root',
): Promise<readonly string[]> {
  // Evaluated instead of added as an element, which the Content-Security-Policy forbids.
  if (!(await page.evaluate(`'axe' in globalThis`))) await page.evaluate(axeSource);
  const found: unknown = await page.evaluate(
    `axe.run('${within}', {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
      resultTypes: ['violations', 'incomplete'],
    })`,
  );
  const { violations, incomplete } = resultSchema.parse(found);
  return [
    ...violations.flatMap(described),
    // axe-core takes text in the colour of its background for text that is hidden on purpose.
    ...incomplete.flatMap(described).filter((fault) => fault.includes('1:1 contrast ratio')),
  ];
}

function described({ id, nodes }: z.infer<typeof findingSchema>): string[] {
  return nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`);
}
