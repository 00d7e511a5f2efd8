import { expect, it } from 'vitest'
import { intervalsToAlone, randomWorld } from '../../bench/schedule/several-resellers.ts'

const [WORLDS, ROUNDS] = [12, 200]

it('in random worlds no fare waits longer than if its reseller were alone with its share', () => {
  const ratios = Array.from({ length: WORLDS }, (_, seed) =>
    intervalsToAlone(randomWorld(seed), ROUNDS),
  ).flat()

  ratios.sort((a, b) => a - b)
  const quantile = (q: number) => ratios[Math.floor(q * ratios.length)]
  expect(ratios.length).toBeGreaterThan(2_000)
  expect(quantile(0.5)).toBeLessThan(0.9)
  expect(quantile(0.99)).toBeLessThanOrEqual(1.01)
  expect(ratios.at(-1)).toBeLessThanOrEqual(1.06)
})
