import type { StageDurations } from './sync-run.ts'

/** Times the stages of one run. */
export interface Stopwatch {
  time<T>(stage: keyof StageDurations, work: () => Promise<T>): Promise<T>
  durations(): StageDurations
}

export function createStopwatch(): Stopwatch {
  const durations: StageDurations = {}
  return {
    async time(stage, work) {
      const start = performance.now()
      try {
        return await work()
      } finally {
        durations[stage] = Math.round(performance.now() - start)
      }
    },
    durations: () => ({ ...durations }),
  }
}
