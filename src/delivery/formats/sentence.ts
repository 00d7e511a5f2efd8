import { changeSentence, type ShownChange } from '../../feeds/change-sentence.ts'
import { cleanText, plainLine } from '../../platform/base/text.ts'
import type { Message } from './format.ts'

/** How many messages one e-mail or chat message joins at most. */
export const MAX_JOINED = 250
/** How many of them it lists. It counts the rest. */
const MAX_LINES = 50
const SHOWN_REFERENCE_CHARS = 80

/** A record as a format receives it. */
interface FeedRecord extends ShownChange {
  readonly seq: number
  readonly reference: string
  readonly list: string | null
}

export interface JoinedText {
  /** One line: the sentence of the only message, or how many there are. */
  readonly title: string
  /** The sentences, then a line with the number of changes that are left out. */
  readonly lines: readonly string[]
}

/**
 * A message as a line of plain text that a travel agent understands: the sentence of its change, then the reseller's own
 * list and reference.
 * @example 'PMI → BCN, 24 Nov 10:25, Llevant Airways 1579: sold out (was 348.81 EUR) [summer / A-1]'
 */
export function sentenceOf(message: Message): string {
  const { type, data, timestamp } = message
  if (type === 'webhook.test') return 'This is a test. Messages of farewatch arrive here.'
  if (type === 'webhook.disabled') return disabledText(data as { readonly reason?: unknown })
  const record = data as FeedRecord
  const own = [record.list, record.reference].filter((text) => text)
  const shown = own.map((text) => plainLine(text ?? '', SHOWN_REFERENCE_CHARS))
  return `${recordText(record, timestamp)} [${shown.join(' / ')}]`
}

/** A record of a form that the sentence does not know must not hold up those that it is joined with. */
function recordText(record: FeedRecord, timestamp: string): string {
  try {
    return changeSentence(record, Number(timestamp.slice(0, 4)))
  } catch {
    return `record ${record.seq} of your feed, ${record.kind.replaceAll('_', ' ')}`
  }
}

function disabledText({ reason }: { readonly reason?: unknown }): string {
  const why =
    reason === 'gone'
      ? 'its receiver answered that it is gone'
      : 'every delivery to it failed for five days'
  return `Another webhook endpoint of this account was disabled: ${why}. Enable it to receive what it missed.`
}

/** Several messages as one: at most `maxLines` sentences, then how many more there are and where they are found. */
export function joinSentences(messages: readonly Message[], maxLines = MAX_LINES): JoinedText {
  const lines = messages.slice(0, maxLines).map(sentenceOf)
  const rest = messages.slice(maxLines)
  const [first = ''] = lines
  if (messages.length === 1) return { title: first, lines }
  return {
    title: `${messages.length} changes of your watched fares`,
    lines: [...lines, ...restText(rest)],
  }
}

/** The records are in the feed, so a line that is left out is not lost. */
function restText(rest: readonly Message[]): string[] {
  if (rest.length === 0) return []
  const seqs = rest.flatMap(({ data }) => (data as Partial<FeedRecord>).seq ?? [])
  const where =
    seqs.length === 0 ? '' : `: numbers ${Math.min(...seqs)} to ${Math.max(...seqs)} of your feed`
  return [cleanText(`and ${rest.length} more${where}`)]
}
