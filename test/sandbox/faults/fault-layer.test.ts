import { describe, expect, it } from 'vitest'
import type { Answer, EndpointName } from '../../../src/sandbox/answer.ts'
import { createFaultLayer } from '../../../src/sandbox/faults/fault-layer.ts'
import { type FaultRule, readRules } from '../../../src/sandbox/faults/fault-rule.ts'
import { manualClock, START } from '../support.ts'

const HONEST: Answer = { status: 200, contentType: 'application/json', body: '[1,2]' }

function layerOf(rules: readonly FaultRule[], seed = 1) {
  const clock = manualClock(START)
  const layer = createFaultLayer({ seed, realNow: () => clock.now() })
  layer.set(readRules(rules))
  const strike = (endpoint: EndpointName = 'routes') =>
    layer.trigger({ endpoint, answer: HONEST, now: clock.now(), url: '/' })
  const strikes = (count: number) =>
    Array.from({ length: count }, () => strike()?.name ?? 'truthful')
  return { clock, layer, strike, strikes }
}

describe('the fault rules in force', () => {
  it('are always triggered at probability 1 and never at 0', () => {
    expect(new Set(layerOf([{ name: 'hang' }]).strikes(300))).toEqual(new Set(['hang']))
    expect(new Set(layerOf([{ name: 'hang', probability: 0 }]).strikes(300))).toEqual(
      new Set(['truthful']),
    )
  })

  it('are triggered about as often as their probability says', () => {
    const triggered = layerOf([{ name: 'hang', probability: 0.3 }])
      .strikes(5000)
      .filter((name) => name === 'hang').length

    expect(triggered / 5000).toBeCloseTo(0.3, 1)
  })

  it('are triggered by the same requests in every run with one seed, and by others with another seed', () => {
    const rules: FaultRule[] = [
      { name: 'hang', probability: 0.3 },
      { name: 'empty', probability: 0.3 },
    ]
    const run = layerOf(rules).strikes(200)

    expect(layerOf(rules).strikes(200)).toEqual(run)
    expect(layerOf(rules, 2).strikes(200)).not.toEqual(run)
    expect(new Set(run)).toEqual(new Set(['hang', 'empty', 'truthful']))
  })

  it('start their count again when they are set', () => {
    const { layer, strikes } = layerOf([{ name: 'hang', probability: 0.5 }])
    const first = strikes(100)

    layer.set(readRules([{ name: 'hang', probability: 0.5 }]))

    expect(strikes(100)).toEqual(first)
  })

  it('have independent draws', () => {
    const alone = layerOf([{ name: 'hang', probability: 0.5 }]).strikes(200)
    const both = layerOf([
      { name: 'hang', probability: 0.5 },
      { name: 'empty', probability: 0.5 },
    ]).strikes(200)

    expect(both.map((name) => name === 'hang')).toEqual(alone.map((name) => name === 'hang'))
  })

  it('do not affect other endpoints', () => {
    const { strike } = layerOf([{ name: 'hang', endpoint: 'verify' }])

    expect(strike('routes')).toBeUndefined()
    expect(strike('booking')).toBeUndefined()
    expect(strike('verify')?.name).toBe('hang')
  })

  it('give way to the next rule if they cannot change an answer', () => {
    const { layer } = layerOf([{ name: 'odd-prices' }, { name: 'empty' }])
    const refused = { ...HONEST, status: 401, body: '{}' }

    const triggered = layer.trigger({ endpoint: 'verify', answer: refused, now: START, url: '/' })

    expect(triggered?.name).toBe('empty')
    expect(layer.active().map((fault) => [fault.requests, fault.triggered])).toEqual([
      [1, 0],
      [1, 1],
    ])
  })

  it('end after their duration, to the millisecond', () => {
    const { clock, layer, strike } = layerOf([{ name: 'hang', durationSeconds: 60 }])
    expect(layer.active()[0]?.endsAt).toEqual(new Date(START.getTime() + 60_000))

    clock.advance(59_999)
    expect(strike()?.name).toBe('hang')
    clock.advance(1)
    expect(strike()).toBeUndefined()
    expect(layer.active()).toEqual([])
    expect(layer.remove('hang')).toBe(0)
  })

  it('alternate the halves of a list by the number of times they were triggered', () => {
    const { layer, strike } = layerOf([{ name: 'two-halves', endpoint: 'routes' }])
    const body = () => strike()?.answer.body

    expect([body(), body(), body()]).toEqual(['[1]', '[2]', '[1]'])
    layer.remove('two-halves')
    expect(strike()).toBeUndefined()
  })
})
