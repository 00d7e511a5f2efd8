import type { Clock } from '../../src/platform/base/clock.ts'

/** The time of the world. It starts at `worldStart` and runs `speed` times as fast as real time. Speed 0 stops it. */
export interface SandboxClock {
  readonly speed: number
  realNow(): Date
  /** The world time at a real instant. */
  worldTimeAt(real: Date): Date
}

/** @example at speed 60, a world that starts at 12:00 shows 13:00 after a real minute */
export function createSandboxClock({
  clock,
  speed,
  worldStart,
}: {
  readonly clock: Clock
  readonly speed: number
  readonly worldStart: Date
}): SandboxClock {
  if (!Number.isFinite(speed) || speed < 0) throw new RangeError(`speed is ${speed}, not 0 or more`)
  const realStart = clock.now().getTime()
  return {
    speed,
    realNow: () => clock.now(),
    worldTimeAt: (real) =>
      new Date(Math.round(worldStart.getTime() + speed * (real.getTime() - realStart))),
  }
}
