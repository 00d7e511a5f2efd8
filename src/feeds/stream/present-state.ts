import { messageOf } from '../../platform/base/errors.ts'
import type { Logger } from '../../platform/base/logger.ts'
import { eventText, type FeedText } from './feed-cursor.ts'

/** Reads the present state of something, by the name of its event. */
export type StateReaders = Readonly<Record<string, () => Promise<unknown>>>

/** The present state of what has no feed, as events: once after a connect, and after each change. */
export interface PresentState {
  join(onChanged: () => void): {
    /** The states that are new since the last call. */
    readonly texts: () => readonly FeedText[]
    readonly leave: () => void
  }
  close(): void
}

export interface PresentStateOptions {
  readonly readers: StateReaders
  readonly log: Logger
  /** How often the states are read while a stream is open. */
  readonly everyMs?: number
}

const EVERY_MS = 1_000

/** Reads the states once for all streams of this process, and not at all while there are none. */
export function createPresentState(options: PresentStateOptions): PresentState {
  const { readers, log, everyMs = EVERY_MS } = options
  const members = new Set<() => void>()
  const states = new Map<string, string>()
  let isReading = false

  const read = async () => {
    if (isReading || members.size === 0) return
    isReading = true
    try {
      for (const [name, reader] of Object.entries(readers)) {
        const json = JSON.stringify(await reader())
        if (states.get(name) === json) continue
        states.set(name, json)
        for (const onChanged of [...members]) onChanged()
      }
    } catch (err) {
      log.warn({ reason: messageOf(err) }, 'the present state could not be read for streams')
    } finally {
      isReading = false
    }
  }
  const timer = setInterval(() => void read(), everyMs).unref()
  return {
    join: (onChanged) => {
      const sent = new Map<string, string>()
      if (members.size === 0) states.clear()
      members.add(onChanged)
      void read()
      return {
        texts: () => {
          const changed = [...states].filter(([name, json]) => sent.get(name) !== json)
          for (const [name, json] of changed) sent.set(name, json)
          return changed.map(([name, json]) => ({ events: 1, text: eventText(name, json) }))
        },
        leave: () => void members.delete(onChanged),
      }
    },
    close: () => clearInterval(timer),
  }
}
