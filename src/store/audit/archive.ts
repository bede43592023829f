import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { GatewayError } from '../../errors.js';
import { AUDIT_ACTIONS, type AuditAction } from '../../site/audit-trail.js';
import { syncDirectory } from '../durable-file.js';
import type { AuditArchiveFaults } from './archive-faults.js';
import {
  type AuditMember,
  type AuditSegment,
  boundsOf,
  segmentNamed,
  segmentOf,
} from './segment.js';
import type { SegmentContent } from './segment-content.js';
import { DRAFT_SUFFIX, makeDirectory, namesIn, readSegment, writeSegment } from './segment-file.js';

export interface AuditArchiveOptions {
  readonly directory: string;
  readonly faults: AuditArchiveFaults;
  /** Segments that stay decompressed, for callers that read page after page. */
  readonly maxOpen: number;
}

/**
 * The older records of the audit trail, on the disk.
 *
 * A segment is a file `<directory>/<action>/<segment>`. Its name tells its bounds; it is read when a page
 * needs it.
 */
export class AuditArchive {
  readonly #options: AuditArchiveOptions;
  readonly #segments = new Map<AuditAction, Set<AuditSegment>>(
    AUDIT_ACTIONS.map((action) => [action, new Set()]),
  );
  /** The most recently used one is at the end. */
  readonly #open = new Map<AuditSegment, Promise<SegmentContent | undefined>>();
  #loading: Promise<void> | undefined;

  constructor(options: AuditArchiveOptions) {
    this.#options = options;
  }

  /**
   * Lists the segments, unless that is done, and removes half-written ones.
   *
   * Until this succeeds, which is a fault, the archive counts as empty.
   *
   * @throws GatewayError `insufficient-storage` when a directory cannot be read
   */
  async load(): Promise<void> {
    this.#loading ??= this.#load();
    try {
      await this.#loading;
    } catch (cause) {
      this.#loading = undefined;
      this.#options.faults.cannotLoad(cause);
      throw unusable(cause);
    }
  }

  /** @throws GatewayError `insufficient-storage` when the disk refuses */
  async makeDirectory(): Promise<void> {
    try {
      await makeDirectory(this.#options.directory);
    } catch (cause) {
      throw unusable(cause);
    }
  }

  segments(actions: readonly AuditAction[]): AuditSegment[] {
    return actions.flatMap((action) => [...this.#of(action)]);
  }

  /** Reads the segment; undefined when it is gone or, which is a fault, unreadable. */
  open(segment: AuditSegment): Promise<SegmentContent | undefined> {
    const content = this.#open.get(segment) ?? this.#read(segment);
    this.#open.delete(segment);
    this.#open.set(segment, content);
    const [eldest] = this.#open.keys();
    if (eldest !== undefined && this.#open.size > this.#options.maxOpen) this.#open.delete(eldest);
    return content;
  }

  /**
   * Stores these records, durably once it resolves.
   *
   * @param members at least one, in the order of the trail
   * @throws GatewayError `insufficient-storage` when the disk does not take them
   */
  async add(action: AuditAction, members: readonly AuditMember[]): Promise<void> {
    const segment = segmentOf(action, members);
    await this.makeDirectory();
    try {
      await makeDirectory(join(this.#options.directory, action));
      await writeSegment(this.#path(segment), members);
    } catch (cause) {
      throw unusable(cause);
    }
    // A segment of that name was unreadable, or these records would not have come again.
    const same = [...this.#of(action)].find(({ name }) => name === segment.name);
    if (same !== undefined) this.#forget(same);
    this.#of(action).add(segment);
  }

  /**
   * Rewrites a segment with these records only.
   *
   * Its name stays, and so its bounds for the next gateway: no record is found twice or not at all.
   *
   * @throws GatewayError `insufficient-storage` when the disk does not take them; then all stay
   */
  async keepOnly(segment: AuditSegment, members: readonly AuditMember[]): Promise<void> {
    try {
      await writeSegment(this.#path(segment), members);
    } catch (cause) {
      throw unusable(cause);
    }
    this.#forget(segment);
    this.#of(segment.action).add({ ...segment, ...boundsOf(members) });
  }

  /** @throws GatewayError `insufficient-storage` when the disk refuses */
  async remove(segment: AuditSegment): Promise<void> {
    const path = this.#path(segment);
    // Dropped first, so that no page looks for a file that is gone.
    this.#drop(segment);
    try {
      await rm(path, { force: true });
      await syncDirectory(join(this.#options.directory, segment.action));
    } catch (cause) {
      this.#of(segment.action).add(segment);
      throw unusable(cause);
    }
    this.#options.faults.readable(path);
  }

  async #load(): Promise<void> {
    const found: AuditSegment[] = [];
    for (const action of AUDIT_ACTIONS) {
      const directory = join(this.#options.directory, action);
      for (const name of await namesIn(directory)) {
        if (name.endsWith(DRAFT_SUFFIX)) await this.#removeDraft(join(directory, name));
        const segment = segmentNamed(action, name);
        if (segment !== undefined) found.push(segment);
      }
    }
    for (const segment of found) this.#of(segment.action).add(segment);
    this.#options.faults.loaded();
  }

  /** Removes a draft; one that stays takes room on the disk and harms no page. */
  async #removeDraft(path: string): Promise<void> {
    try {
      await rm(path, { force: true });
    } catch (error) {
      this.#options.faults.cannotRemoveDraft(path, error);
    }
  }

  async #read(segment: AuditSegment): Promise<SegmentContent | undefined> {
    const { faults } = this.#options;
    const path = this.#path(segment);
    try {
      const content = await readSegment(path);
      faults.readable(path);
      return content;
    } catch (error) {
      this.#open.delete(segment);
      // A segment that retention removed meanwhile is not unreadable.
      if (this.#of(segment.action).has(segment)) faults.cannotRead(path, error);
      return undefined;
    }
  }

  #forget(segment: AuditSegment): void {
    this.#drop(segment);
    this.#options.faults.readable(this.#path(segment));
  }

  #drop(segment: AuditSegment): void {
    this.#of(segment.action).delete(segment);
    this.#open.delete(segment);
  }

  #of(action: AuditAction): Set<AuditSegment> {
    const segments = this.#segments.get(action) ?? new Set();
    this.#segments.set(action, segments);
    return segments;
  }

  #path({ action, name }: AuditSegment): string {
    return join(this.#options.directory, action, name);
  }
}

/** The caller's error for a failure of the file system. */
function unusable(cause: unknown): GatewayError {
  return new GatewayError('insufficient-storage', 'The disk does not take the audit trail.', {
    cause,
  });
}
