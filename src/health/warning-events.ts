import type { OperatorEvent } from '../delivery/endpoints/operator-events.ts'
import { durationText } from '../platform/base/text.ts'
import { STATUS_CHECKS } from './checks.ts'
import { DOCTOR_CHECKS } from './doctor-checks.ts'
import type { StatusWarning } from './status-shapes.ts'

/** A warning that was read before, with what operators were sent of it. */
export interface TrackedWarning {
  readonly code: string
  readonly subject: string | null
  readonly text: string
  /** Whether the last reading had it, and since when that is so. */
  readonly isPresent: boolean
  readonly sinceMs: number
  /** When it began, of the last hour. */
  readonly begunMs: readonly number[]
  /** The worst level that was sent, and when the warning began; null: none, or its end was sent. */
  readonly sent: { readonly level: StatusWarning['level']; readonly sinceMs: number } | null
  readonly isFlapping: boolean
}

export const WARNING_EVENTS = ['began', 'worsened', 'ended', 'flapping'] as const
type WarningEventName = (typeof WARNING_EVENTS)[number]

/** Two readings of a process. What ends sooner, as after a restart, is not sent. */
const BEGINS_AFTER_MS = 50_000
/** What comes back sooner has not ended. */
const ENDS_AFTER_MS = 5 * 60_000
const HOUR_MS = 3_600_000
/** So often in an hour is one message. The next one is sent when nothing has changed for an hour. */
const FLAPS = 5

export interface Advanced {
  readonly tracked: readonly TrackedWarning[]
  readonly events: readonly OperatorEvent[]
}

/** What operators are sent, after a reading that had these warnings. */
export function advanceWarnings(
  tracked: readonly TrackedWarning[],
  warnings: readonly StatusWarning[],
  nowMs: number,
): Advanced {
  const before = new Map(tracked.map((one) => [keyOf(one), one]))
  const found = new Map([...Map.groupBy(warnings, keyOf)].map(([key, own]) => [key, joined(own)]))
  const steps = [...new Set([...found.keys(), ...before.keys()])].map((key) =>
    advance(before.get(key), found.get(key), nowMs),
  )
  return {
    tracked: steps.flatMap(({ next }) => (isForgotten(next) ? [] : [next])),
    events: steps.flatMap(({ event }) => event ?? []),
  }
}

/** What was saved last, with what a process knows in addition. What it reported later than that counts. */
export function mergeTracked(
  saved: { readonly at: Date; readonly tracked: readonly TrackedWarning[] },
  unsaved: typeof saved | undefined,
): readonly TrackedWarning[] {
  if (unsaved === undefined) return saved.tracked
  if (unsaved.at > saved.at) return unsaved.tracked
  const known = new Set(saved.tracked.map(keyOf))
  return [...saved.tracked, ...unsaved.tracked.filter((one) => !known.has(keyOf(one)))]
}

/** One cause may have several codes, which share a section of the runbooks. */
function keyOf({ code, subject }: Pick<TrackedWarning, 'code' | 'subject'>): string {
  return `${checkOf(code)?.runbook ?? code} ${subject ?? ''}`
}

function checkOf(code: string) {
  return STATUS_CHECKS[code] ?? DOCTOR_CHECKS[code]
}

/** The worst is first. */
function joined(warnings: readonly StatusWarning[]): StatusWarning {
  const [worst] = warnings as [StatusWarning]
  return { ...worst, text: warnings.map(({ text }) => text).join(' ') }
}

function isForgotten({ isPresent, sent, begunMs, isFlapping }: TrackedWarning): boolean {
  return !isPresent && sent === null && begunMs.length === 0 && !isFlapping
}

function advance(
  was: TrackedWarning | undefined,
  found: StatusWarning | undefined,
  nowMs: number,
): { readonly next: TrackedWarning; readonly event?: OperatorEvent } {
  const next = track(was, found, nowMs)
  const { sent, sinceMs, isFlapping } = next
  const level = found?.level ?? sent?.level ?? 'warn'
  const name = eventOf({ next, wasFlapping: was?.isFlapping === true, level, nowMs })
  if (name === undefined) return { next }
  const event = messageOf(name, { warning: found, next, level })
  if (name === 'ended') return { next: { ...next, sent: null }, event }
  const beganMs = sent?.sinceMs ?? (isFlapping ? Math.min(nowMs, ...next.begunMs) : sinceMs)
  return { next: { ...next, sent: { level, sinceMs: beganMs } }, event }
}

function track(
  was: TrackedWarning | undefined,
  found: StatusWarning | undefined,
  nowMs: number,
): TrackedWarning {
  const isPresent = found !== undefined
  const changed = isPresent !== (was?.isPresent ?? false)
  const sinceMs = changed ? nowMs : (was?.sinceMs ?? nowMs)
  const recent = (was?.begunMs ?? []).filter((ms) => ms > nowMs - HOUR_MS)
  const begunMs = changed && isPresent ? [...recent, nowMs] : recent
  const isSteady = nowMs - sinceMs >= HOUR_MS
  return {
    code: found?.code ?? was?.code ?? '',
    subject: found?.subject ?? was?.subject ?? null,
    text: found?.text ?? was?.text ?? '',
    isPresent,
    sinceMs,
    begunMs,
    sent: was?.sent ?? null,
    isFlapping: begunMs.length >= FLAPS || (was?.isFlapping === true && !isSteady),
  }
}

interface Judged {
  readonly next: TrackedWarning
  readonly wasFlapping: boolean
  readonly level: StatusWarning['level']
  readonly nowMs: number
}

function eventOf({ next, wasFlapping, level, nowMs }: Judged): WarningEventName | undefined {
  const { isPresent, sinceMs, sent, isFlapping } = next
  if (isFlapping && !wasFlapping) return 'flapping'
  if (isPresent && sent?.level === 'warn' && level === 'bad') return 'worsened'
  if (isFlapping) return undefined
  if (isPresent && sent === null && nowMs - sinceMs >= BEGINS_AFTER_MS) return 'began'
  if (!isPresent && sent !== null && nowMs - sinceMs >= ENDS_AFTER_MS) return 'ended'
  return undefined
}

/** Whether a warning wakes a person. */
function isCritical(code: string, level: StatusWarning['level']): boolean {
  const check = checkOf(code)
  return level === 'bad' && (check?.alert !== undefined || check?.wakes === true)
}

interface Message {
  readonly warning: StatusWarning | undefined
  readonly next: TrackedWarning
  readonly level: StatusWarning['level']
}

function messageOf(name: WarningEventName, { warning, next, level }: Message): OperatorEvent {
  const { code, subject, text, sent, sinceMs, begunMs } = next
  const critical = isCritical(code, level)
  const rank = critical ? 'Critical' : level === 'bad' ? 'Problem' : 'Warning'
  const lasted = durationText(sinceMs - (sent?.sinceMs ?? sinceMs))
  const heads = {
    began: rank,
    worsened: `${rank}, worse than before`,
    ended: `Ended after ${lasted}`,
    flapping: `${rank}, ${begunMs.length} times in an hour`,
  }
  const todo = name === 'ended' ? null : (warning?.todo ?? null)
  const message = [`${heads[name]}: ${text}`, ...(todo === null ? [] : [todo])].join(' ')
  return {
    type: `warning.${name}`,
    isCritical: critical,
    data: { code, subject, level, critical, text, todo, message },
  }
}
