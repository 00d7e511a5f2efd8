import { expect, it } from 'vitest'

type Pair = [string, string]
interface Network {
  live: Pair[]
  changes: { pair: Pair; added: boolean; at: number }[]
  from: number
  to: number
}

it('shows the network as it stood at an instant', async () => {
  const file = new URL('../../src/page/map/network.js', import.meta.url).href
  const { networkAt, steadyOf } = (await import(file)) as {
    steadyOf(network: Network): Pair[]
    networkAt(network: Network, at: number): Record<string, Pair[]>
  }
  const network: Network = {
    live: [
      ['PMI', 'MAD'],
      ['PMI', 'BCN'],
    ],
    changes: [
      { pair: ['PMI', 'IBZ'], added: false, at: 10 },
      { pair: ['PMI', 'BCN'], added: true, at: 20 },
      { pair: ['MAD', 'LIS'], added: true, at: 30 },
      { pair: ['MAD', 'LIS'], added: false, at: 40 },
    ],
    from: 0,
    to: 50,
  }
  const at = (instant: number) => {
    const { returned, added, removed } = networkAt(network, instant)
    const names = (pairs: Pair[] = []) => pairs.map((pair) => pair.join('-'))
    return {
      live: names(steadyOf(network)).concat(names(returned)),
      added: names(added),
      removed: names(removed),
    }
  }

  expect(at(5)).toEqual({ live: ['PMI-MAD', 'PMI-IBZ'], added: [], removed: [] })
  expect(at(35)).toEqual({ live: ['PMI-MAD'], added: ['PMI-BCN', 'MAD-LIS'], removed: ['PMI-IBZ'] })
  expect(at(50)).toEqual({ live: ['PMI-MAD'], added: ['PMI-BCN'], removed: ['PMI-IBZ'] })
})
