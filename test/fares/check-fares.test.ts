import { expect, it } from 'vitest'
import { type CheckBatch, type ClaimedFare, checkFares } from '../../src/fares/check/check-fares.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import type { Observation } from '../../src/upstream/observation.ts'
import { available, observation } from './fare-fixtures.ts'

const NONE = { adults: 0, children: 0, infants: 0 }

function fare(fareId: number, slotInMs = 0): ClaimedFare {
  const passengers = { residents: NONE, nonResidents: { ...NONE, adults: 1 } }
  const question = { flightId: String(fareId), returnFlightId: null, passengers }
  return { fareId, slotAt: new Date(Date.now() + slotInMs), question, why: 'scheduled' }
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
const faresOf = (batch: CheckBatch | undefined) => batch?.checks.map((check) => check.fareId)

it('results are yielded before a call that hangs, and its result when it comes', async () => {
  const { upstream, answer } = heldUpstream()
  const batches = checkFares({ upstream, clock: systemClock }, [fare(1), fare(2), fare(3, 20)], {
    skewMs: 0,
    unsureMs: 0,
    signal: never,
  })

  const first = await batches.next()
  answer(2)
  const second = await batches.next()

  expect(faresOf(first.value ?? undefined)).toEqual([1, 3])
  expect(faresOf(second.value ?? undefined)).toEqual([2])
  expect((await batches.next()).done).toBe(true)
})

it('a fare whose slot has passed by more than a second is not checked', async () => {
  const { upstream } = heldUpstream()
  const batches = checkFares({ upstream, clock: systemClock }, [fare(1, -5_000), fare(3)], {
    skewMs: 0,
    unsureMs: 0,
    signal: never,
  })

  const { value } = await batches.next()

  expect(value).toMatchObject({ late: [1], checks: [{ fareId: 3 }] })
})

it('the generator throws the reason when it is aborted', async () => {
  const { upstream } = heldUpstream()
  const abort = new AbortController()
  const batches = checkFares({ upstream, clock: systemClock }, [fare(1), fare(3, 4_000)], {
    skewMs: 0,
    unsureMs: 0,
    signal: abort.signal,
  })
  const first = batches.next()
  abort.abort()

  await expect(first).rejects.toMatchObject({ name: 'AbortError' })
})
