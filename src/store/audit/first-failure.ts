/** Of several things, each done whatever becomes of the others, what failed first. */
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

  /** @throws what failed first, if anything did */
  tell(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
