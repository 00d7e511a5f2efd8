import { expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import type { Observation } from '../../src/upstream/observation.ts'
import { askFares, type Wave } from '../../src/verify/checks/ask-fares.ts'
import type { ClaimedFare } from '../../src/verify/checks/claimed-fares.ts'
import { available, observation } from './fare-fixtures.ts'

const NONE = { adults: 0, children: 0, infants: 0 }

function fare(fareId: number, slotInMs = 0): ClaimedFare {
  const passengers = { residents: NONE, nonResidents: { ...NONE, adults: 1 } }
  const question = { flightId: String(fareId), returnFlightId: null, passengers }
  return { fareId, slotAt: new Date(Date.now() + slotInMs), question }
}

/** An upstream whose answers a test gives one by one. */
function heldUpstream() {
  const held = new Map<string, PromiseWithResolvers<Observation>>()
  return {
    answer: (id: number) => held.get(String(id))?.resolve(observation(available())),
    upstream: {
      verifyFares: ({ flightId }: { flightId: string }) => {
        const answer = Promise.withResolvers<Observation>()
        held.set(flightId, answer)
        if (flightId !== '2') answer.resolve(observation(available()))
        return answer.promise
      },
    },
  }
}

const never = new AbortController().signal
const faresOf = (wave: Wave | undefined) => wave?.checks.map((check) => check.fareId)

it('gives the answers that are there before one that hangs, and that one when it comes', async () => {
  const { upstream, answer } = heldUpstream()
  const waves = askFares({ upstream, clock: systemClock }, [fare(1), fare(2), fare(3, 20)], {
    skewMs: 0,
    unsureMs: 0,
    signal: never,
  })

  const first = await waves.next()
  answer(2)
  const second = await waves.next()

  expect(faresOf(first.value ?? undefined)).toEqual([1, 3])
  expect(faresOf(second.value ?? undefined)).toEqual([2])
  expect((await waves.next()).done).toBe(true)
})

it('asks nothing whose slot has passed by more than a second', async () => {
  const { upstream } = heldUpstream()
  const waves = askFares({ upstream, clock: systemClock }, [fare(1, -5_000), fare(3)], {
    skewMs: 0,
    unsureMs: 0,
    signal: never,
  })

  const { value } = await waves.next()

  expect(value).toMatchObject({ late: [1], checks: [{ fareId: 3 }] })
})

it('ends with the reason when it is aborted', async () => {
  const { upstream } = heldUpstream()
  const abort = new AbortController()
  const waves = askFares({ upstream, clock: systemClock }, [fare(1), fare(3, 4_000)], {
    skewMs: 0,
    unsureMs: 0,
    signal: abort.signal,
  })
  const first = waves.next()
  abort.abort()

  await expect(first).rejects.toMatchObject({ name: 'AbortError' })
})
