import { type Gap, isArchivedAfter, isInGap, numberFrom } from '../feed-bounds.ts'
import type { FeedTail, RecordPage, StreamRecord } from './feed-tail.ts'

/** Text of a stream in the form of Server-Sent Events. */
export interface FeedText {
  /** How many events it has. */
  readonly events: number
  /** The number of its last record; undefined if it is about no record. */
  readonly seq?: number
  /** Whether each event has its id. Otherwise the text is one event and lacks the line of its id. */
  readonly hasIds?: true
  readonly text: string | Buffer
}

/** An event as text. */
export function eventText(kind: string, json: string): string {
  return `event: ${kind}\ndata: ${json}\n\n`
}

export interface NextTexts {
  readonly texts: readonly FeedText[]
  /** Whether all records that the tail has read are sent. If not, call `next` again. */
  readonly caughtUp: boolean
  /** Whether no event can follow, because the feed has lost records. */
  readonly over: boolean
}

/** The position of one stream in one feed. */
export interface FeedCursor {
  /** All records up to this number were sent or do not pass the filter. */
  position(): number
  next(): Promise<NextTexts>
}

interface FeedCursorOptions<V> {
  readonly tail: Pick<FeedTail<V>, 'after' | 'wentBack' | 'gaps'>
  readonly after: number
  /** The records after a number that pass the filter. */
  readonly readPage: (after: number) => Promise<RecordPage<V>>
  /**
   * Whether the numbers are the ids, so that streams at one position can send the same bytes. Only without a
   * filter.
   */
  readonly numbersAreIds?: true
  /** Undefined: all records pass. */
  readonly filter?: Filter<V>
}

interface Filter<V> {
  readonly passes: (value: V) => boolean
  /** The number of the last record before this one that passes; 0 if none of the `span` before it does. */
  readonly findPrevious: (seq: number, gaps: readonly Gap[]) => Promise<number>
  readonly span: number
}

/** A stream that waits for its client holds this much text, or one record. */
const BATCH_CHARS = 32_000

/**
 * Follows a feed in three phases. *Backfill*: while the tail does not hold the next record, pages are read from the
 * feed. *Cutover*: as soon as it does, the records after the position come from the tail. *Live*: the stream waits
 * for the tail to grow. The position is the only state, and each step takes the records after it without a gap, so
 * no record is missed or sent twice. A stream that is too slow for the tail is in the first phase again.
 */
export function createFeedCursor<V>(options: FeedCursorOptions<V>): FeedCursor {
  const { tail, filter, readPage } = options
  let position = options.after
  let lastPassed: number | undefined

  const passingTexts = async (
    records: readonly StreamRecord<V>[],
    gaps: readonly Gap[],
    { findPrevious, span }: Filter<V>,
  ) => {
    const texts: FeedText[] = []
    for (const record of records) {
      const { seq } = record
      const found = lastPassed ?? (await findPrevious(seq, gaps))
      const previous = found > numberFrom(gaps, seq, -1 - span) ? found : 0
      texts.push({ events: 1, seq, text: textOf(record, previous) })
      lastPassed = seq
    }
    return texts
  }
  return {
    position: () => position,
    next: async () => {
      const held = tail.after(position)
      const page = held === undefined ? await readPage(position) : undefined
      const gaps = page?.gaps ?? tail.gaps()
      const over = tail.wentBack() || isInGap(gaps, position) || (page?.head ?? position) < position
      if (over || (page !== undefined && isArchivedAfter(page, position))) {
        const next = over ? null : (page?.first ?? null)
        const texts = [gap({ after: position, next })]
        if (next !== null) position = numberFrom(gaps, next - 1, 0)
        return { texts, caughtUp: over, over }
      }
      const passing = page?.records ?? held?.filter(({ value }) => filter?.passes(value) ?? true)
      const { taken, isAll } = takeBatch(passing ?? [])
      const texts =
        filter === undefined
          ? allTexts(taken, { ...options, after: position, gaps })
          : await passingTexts(taken, gaps, filter)
      const readUpTo = page?.seq ?? held?.at(-1)?.seq ?? position
      position = isAll ? readUpTo : (taken.at(-1)?.seq ?? position)
      return { texts, caughtUp: isAll && page === undefined, over: false }
    },
  }
}

interface TextsArgs extends Pick<FeedCursorOptions<unknown>, 'after' | 'numbersAreIds'> {
  readonly gaps: readonly Gap[]
}

/** The texts of records after a number of a feed without a filter, and of what is missing between them. */
function allTexts(
  records: readonly StreamRecord<unknown>[],
  { after, numbersAreIds, gaps }: TextsArgs,
): FeedText[] {
  const before = (seq: number) => numberFrom(gaps, seq, -1)
  const last = records.at(-1)
  const isDense = last !== undefined && numberFrom(gaps, after, records.length) === last.seq
  if (isDense && numbersAreIds === true) return [sharedText(records, before)]
  return records.flatMap((record, i) => {
    const { seq } = record
    const read = records[i - 1]?.seq ?? after
    const missing = before(seq) > read ? [gap({ after: read, next: seq })] : []
    return [...missing, { events: 1, seq, text: textOf(record, before(seq)) }]
  })
}

function textOf({ kind, json }: StreamRecord<unknown>, previous: number): string {
  return eventText(kind, `${json.slice(0, -1)},"previous":${previous}}`)
}

/** The last text that begins with a record. */
const lastShared = new WeakMap<object, FeedText>()

/** The text of records for streams without a filter. Streams at one position share it: a thousand make one copy. */
function sharedText(
  records: readonly StreamRecord<unknown>[],
  before: (seq: number) => number,
): FeedText {
  const [first = {}] = records
  const known = lastShared.get(first)
  if (known?.events === records.length) return known
  const texts = records.map((record) => `id: ${record.seq}\n${textOf(record, before(record.seq))}`)
  const seq = records.at(-1)?.seq ?? 0
  const shared: FeedText = {
    events: records.length,
    seq,
    hasIds: true,
    text: Buffer.from(texts.join('')),
  }
  lastShared.set(first, shared)
  return shared
}

/** The first records that fit into a batch; at least one. */
function takeBatch<V>(records: RecordPage<V>['records']) {
  let chars = 0
  const end = records.findIndex(({ json }) => {
    chars += json.length
    return chars > BATCH_CHARS
  })
  const taken = end < 0 ? records : records.slice(0, Math.max(1, end))
  return { taken, isAll: taken.length === records.length }
}

/** Records that the feed lacks. `next` is the number at which it goes on; null if it ends before `after`. */
function gap(data: { readonly after: number; readonly next: number | null }): FeedText {
  return { events: 1, text: eventText('gap', JSON.stringify(data)) }
}
