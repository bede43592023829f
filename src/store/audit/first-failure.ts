/** Runs several steps, whatever becomes of each; keeps the first failure. */
export class FirstFailure {
  #failure: { readonly error: unknown } | undefined;

  /** Resolves to undefined when it fails. */
  async attempt<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#failure ??= { error };
      return undefined;
    }
  }

  /** @throws the first failure, if there was one */
  tell(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
