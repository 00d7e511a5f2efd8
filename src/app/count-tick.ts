import type { Tick } from '../schedules/reconciler.ts'
import type { App } from './app.ts'
import type { TICK_EVERY_MS } from './last-tick.ts'

export interface RunningTick extends Tick {
  readonly name: keyof typeof TICK_EVERY_MS
  /** What it leaves when the signal asks it to end is done by the next one. */
  readonly run: (signal: AbortSignal) => Promise<unknown>
}

/**
 * Tells when a tick last ended well here. It begins with the start of the process, not with never: the rarest tick comes
 * every hour, to one process of many.
 */
export function countTick(
  { metrics, clock }: Pick<App, 'metrics' | 'clock'>,
  tick: RunningTick,
): RunningTick {
  const succeeded = () =>
    metrics.tickLastSuccess.set({ tick: tick.name }, clock.now().getTime() / 1000)
  metrics.tickInterval.set({ tick: tick.name }, tick.everyMs / 1000)
  succeeded()
  return {
    ...tick,
    run: async (signal) => {
      await tick.run(signal)
      succeeded()
    },
  }
}
