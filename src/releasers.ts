type Release = () => void | Promise<void>;

/** What has been started, to be stopped in reverse order, also when a start fails half-way. */
export class Releasers {
  readonly #releases: Release[] = [];

  add(release: Release): void {
    this.#releases.push(release);
  }

  /** Stops everything, last in, first out; one failure does not keep the others running. */
  async release(onFailure: (error: unknown) => void): Promise<void> {
    for (let next = this.#releases.pop(); next !== undefined; next = this.#releases.pop()) {
      try {
        await next();
      } catch (error) {
        onFailure(error);
      }
    }
  }
}
