import type { z } from 'zod';

/** The other side of `Program.ask`; the program ends with the bench. */
export function answerOnce<T>(schema: z.ZodType<T>, work: (question: T) => Promise<unknown>): void {
  process.once('message', (message) => {
    work(schema.parse(message)).then(
      (result) => process.send?.({ result }),
      (error: unknown) => process.send?.({ failure: String(error) }),
    );
  });
  process.on('disconnect', () => process.exit(0));
}
