import { messageOf } from '../../platform/base/errors.ts'
import type { Logger } from '../../platform/base/logger.ts'
import { createEventPages, eventText } from './event-pages.ts'
import { createEventStreams, type EventStreams, type EventStreamsOptions } from './event-streams.ts'

/** The event streams of a process, and what they share. */
export interface Streams extends EventStreams {
  readonly presentState: PresentState
}

export interface StreamsDeps extends Omit<EventStreamsOptions, 'onFailure' | 'readEvents'> {
  readonly log: Logger
  /** What operators see in addition to the feeds. */
  readonly states: StateReaders
}

export function createStreams({ log, states, ...options }: StreamsDeps): Streams {
  const presentState = createPresentState(states, log)
  const events = createEventStreams({
    ...options,
    readEvents: createEventPages(),
    onFailure: (err) => log.error({ err }, 'an event stream failed'),
  })
  return {
    ...events,
    presentState,
    close: () => {
      events.close()
      presentState.close()
    },
  }
}

/** Reads the present state of something, by the name of its event. */
export type StateReaders = Readonly<Record<string, () => Promise<unknown>>>

/** The present state of what has no feed, as events: once after a connect, and after each change. */
interface PresentState {
  join(onChanged: () => void): {
    /** The states that are new since the last call. */
    readonly texts: () => readonly string[]
    readonly leave: () => void
  }
  close(): void
}

/** How often the states are read while a stream is open. */
const EVERY_MS = 1_000

/** Reads the states once for all streams of this process, and not at all while there are none. */
function createPresentState(readers: StateReaders, log: Logger): PresentState {
  const members = new Set<() => void>()
  const states = new Map<string, string>()
  let isReading = false

  const read = async () => {
    if (isReading || members.size === 0) return
    isReading = true
    try {
      for (const [name, reader] of Object.entries(readers)) {
        const text = eventText(name, await reader())
        if (states.get(name) === text) continue
        states.set(name, text)
        for (const onChanged of [...members]) onChanged()
      }
    } catch (err) {
      log.warn({ reason: messageOf(err) }, 'the present state could not be read for streams')
    } finally {
      isReading = false
    }
  }
  const timer = setInterval(() => void read(), EVERY_MS).unref()
  return {
    join: (onChanged) => {
      const sent = new Map<string, string>()
      if (members.size === 0) states.clear()
      members.add(onChanged)
      void read()
      return {
        texts: () => {
          const changed = [...states].filter(([name, text]) => sent.get(name) !== text)
          for (const [name, text] of changed) sent.set(name, text)
          return changed.map(([, text]) => text)
        },
        leave: () => void members.delete(onChanged),
      }
    },
    close: () => clearInterval(timer),
  }
}
