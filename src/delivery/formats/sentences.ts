import { cleanText, nameText, plainLine } from '../../platform/base/text.ts'
import { changeSentence, type ShownChange } from './change-sentence.ts'
import type { ShownRouteChange } from './event-text.ts'
import type { Message } from './format.ts'

/** How many messages one e-mail or chat message joins at most. */
export const MAX_JOINED = 250
/** How many of them it lists. It counts the rest. */
const MAX_LINES = 50
const SHOWN_REFERENCE_CHARS = 80
const MAX_WARNING_CHARS = 1_000

/** A record as a format receives it. */
type Shown = (ShownChange | ShownRouteChange) & {
  readonly seq: number
  readonly reference: string | null
  readonly list: string | null
}

interface JoinedText {
  /** One line: the sentence of the only message, or how many there are. */
  readonly title: string
  /** The sentences, then a line with the number of changes that are left out. */
  readonly lines: readonly string[]
}

/**
 * A message as a line of plain text that a travel agent understands: the sentence of its change, then the
 * reseller's own list and reference.
 * @example 'PMI → BCN, 24 Nov 10:25, Llevant Airways 1579: sold out (was 348.81 EUR) [summer / A-1]'
 */
export function sentenceOf(message: Message): string {
  const { type, data, timestamp } = message
  if (type === 'webhook.test') return 'This is a test. Messages of farewatch arrive here.'
  if (type === 'webhook.disabled') return disabledText(data as DisabledEndpoint)
  if (isWarning(message)) return cleanText((data as { message: string }).message, MAX_WARNING_CHARS)
  const record = data as Shown
  const own = [record.list, record.reference].filter((text) => text)
  const shown = own.map((text) => plainLine(text ?? '', SHOWN_REFERENCE_CHARS))
  const prefix = isExample(message) ? 'Example: ' : ''
  const watch = shown.length === 0 ? '' : ` [${shown.join(' / ')}]`
  return `${prefix}${recordText(record, timestamp)}${watch}`
}

/** A record of a form that the sentence does not know must not hold up those that it is joined with. */
function recordText(record: Shown, timestamp: string): string {
  try {
    return changeSentence(record, Number(timestamp.slice(0, 4)))
  } catch {
    return `record ${record.seq} of your feed, ${record.kind.replaceAll('_', ' ')}`
  }
}

/** The last two are missing in events of older versions. */
interface DisabledEndpoint {
  readonly endpointId: string
  readonly reason: string
  readonly description?: string
  readonly target?: string
}

function disabledText({ endpointId, reason, description, target }: DisabledEndpoint): string {
  const name = [description, target, endpointId]
    .filter((text) => text)
    .map((text) => nameText(text ?? ''))
  const account = `Another endpoint of this account (${name.join(', ')}) was disabled`
  if (reason === 'not_allowed')
    return `${account}: the operator does not allow its address any more.`
  const why =
    reason === 'gone'
      ? 'its receiver answered that it is gone'
      : 'every delivery to it failed for five days'
  return `${account}: ${why}. Enable it to receive what it missed.`
}

interface JoinRules {
  /** Masks what would be read as markup or as a mention. */
  readonly mask?: (line: string) => string
  readonly maxBytes?: number
}

/** Several messages as one: as many sentences as fit, then how many more there are and where they are found. */
export function joinSentences(
  messages: readonly Message[],
  { mask = (line) => line, maxBytes = Number.POSITIVE_INFINITY }: JoinRules = {},
): JoinedText {
  const lines = messages.slice(0, MAX_LINES).map((message) => mask(sentenceOf(message)))
  const [first = ''] = lines
  if (messages.length === 1) return { title: first, lines }
  const shown = lines.slice(0, countFitting(lines, maxBytes - FRAME_BYTES))
  const rest = restText(messages.slice(shown.length)).map(mask)
  return { title: titleOf(messages), lines: [...shown, ...rest] }
}

/** What the title and the line about the rest take. */
const FRAME_BYTES = 250
/** A sign before each line, and its end. */
const LINE_BYTES = 5

function countFitting(lines: readonly string[], maxBytes: number): number {
  let left = maxBytes
  const end = lines.findIndex((line) => {
    left -= Buffer.byteLength(line) + LINE_BYTES
    return left < 0
  })
  return end === -1 ? lines.length : end
}

/** @example '2 changes of your watched fares, 1 change of routes, 1 test' */
function titleOf(messages: readonly Message[]): string {
  const changes = messages.filter(({ type }) => type.startsWith('fare.')).length
  const routes = messages.filter(({ type }) => /^(route|place)\./.test(type)).length
  const notices = messages.filter(({ type }) => type === 'webhook.disabled').length
  const warnings = messages.filter(isWarning).length
  const tests = messages.length - changes - routes - notices - warnings
  const counted = (count: number, noun: string, more = '') =>
    count === 0 ? [] : [`${count} ${noun}${count === 1 ? '' : 's'}${more}`]
  return [
    ...counted(changes, 'change', ' of your watched fares'),
    ...counted(routes, 'change', ' of routes'),
    ...counted(notices, 'disabled endpoint'),
    ...counted(warnings, 'message', ' about farewatch'),
    ...counted(tests, 'test'),
  ].join(', ')
}

/** For operators. */
function isWarning({ type }: Message): boolean {
  return type.startsWith('warning.')
}

function isExample({ type }: Message): boolean {
  return type.startsWith('example.')
}

/** The records are in the feed, so a line that is left out is not lost. */
function restText(rest: readonly Message[]): string[] {
  if (rest.length === 0) return []
  const seqs = rest.flatMap(({ data }) => (data as Partial<Shown>).seq ?? [])
  const where =
    seqs.length === 0 ? '' : `: numbers ${Math.min(...seqs)} to ${Math.max(...seqs)} of your feed`
  return [cleanText(`and ${rest.length} more${where}`)]
}
