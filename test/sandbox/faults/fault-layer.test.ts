import { describe, expect, it } from 'vitest'
import type { Answer, OperationName } from '../../../sandbox/answer.ts'
import { createFaultLayer } from '../../../sandbox/faults/fault-layer.ts'
import { type FaultRule, readRules } from '../../../sandbox/faults/fault-rule.ts'
import { manualClock, START } from '../support.ts'

const CORRECT: Answer = { status: 200, contentType: 'application/json', body: '[1,2]' }

function layerOf(rules: readonly FaultRule[], seed = 1) {
  const clock = manualClock(START)
  const layer = createFaultLayer({ seed, realNow: () => clock.now() })
  layer.set(readRules(rules))
  const trigger = (endpoint: OperationName = 'routes') =>
    layer.trigger({ endpoint, answer: CORRECT, now: clock.now(), url: '/' })
  const names = (count: number) =>
    Array.from({ length: count }, () => trigger()?.name ?? 'truthful')
  return { clock, layer, trigger, names }
}

describe('the fault rules in force', () => {
  it('are always triggered at probability 1 and never at 0', () => {
    expect(new Set(layerOf([{ name: 'hang' }]).names(300))).toEqual(new Set(['hang']))
    expect(new Set(layerOf([{ name: 'hang', probability: 0 }]).names(300))).toEqual(
      new Set(['truthful']),
    )
  })

  it('are triggered about as often as their probability says', () => {
    const triggered = layerOf([{ name: 'hang', probability: 0.3 }])
      .names(5000)
      .filter((name) => name === 'hang').length

    expect(triggered / 5000).toBeCloseTo(0.3, 1)
  })

  it('are triggered by the same requests in every run with one seed, and by others with another seed', () => {
    const rules: FaultRule[] = [
      { name: 'hang', probability: 0.3 },
      { name: 'empty', probability: 0.3 },
    ]
    const run = layerOf(rules).names(200)

    expect(layerOf(rules).names(200)).toEqual(run)
    expect(layerOf(rules, 2).names(200)).not.toEqual(run)
    expect(new Set(run)).toEqual(new Set(['hang', 'empty', 'truthful']))
  })

  it('start their count again when they are set', () => {
    const { layer, names } = layerOf([{ name: 'hang', probability: 0.5 }])
    const first = names(100)

    layer.set(readRules([{ name: 'hang', probability: 0.5 }]))

    expect(names(100)).toEqual(first)
  })

  it('have independent draws', () => {
    const alone = layerOf([{ name: 'hang', probability: 0.5 }]).names(200)
    const both = layerOf([
      { name: 'hang', probability: 0.5 },
      { name: 'empty', probability: 0.5 },
    ]).names(200)

    expect(both.map((name) => name === 'hang')).toEqual(alone.map((name) => name === 'hang'))
  })

  it('do not affect other endpoints', () => {
    const { trigger } = layerOf([{ name: 'hang', endpoint: 'verify' }])

    expect(trigger('routes')).toBeUndefined()
    expect(trigger('booking')).toBeUndefined()
    expect(trigger('verify')?.name).toBe('hang')
  })

  it('give way to the next rule if they cannot change an answer', () => {
    const { layer } = layerOf([{ name: 'odd-prices' }, { name: 'empty' }])
    const rejected = { ...CORRECT, status: 401, body: '{}' }

    const triggered = layer.trigger({ endpoint: 'verify', answer: rejected, now: START, url: '/' })

    expect(triggered?.name).toBe('empty')
    expect(layer.active().map((fault) => [fault.requests, fault.triggered])).toEqual([
      [1, 0],
      [1, 1],
    ])
  })

  it('end after their duration, to the millisecond', () => {
    const { clock, layer, trigger } = layerOf([{ name: 'hang', durationSeconds: 60 }])
    expect(layer.active()[0]?.endsAt).toEqual(new Date(START.getTime() + 60_000))

    clock.advance(59_999)
    expect(trigger()?.name).toBe('hang')
    clock.advance(1)
    expect(trigger()).toBeUndefined()
    expect(layer.active()).toEqual([])
    expect(layer.remove('hang')).toBe(0)
  })

  it('alternate the halves of a list by the number of times they were triggered', () => {
    const { layer, trigger } = layerOf([{ name: 'two-halves', endpoint: 'routes' }])
    const body = () => trigger()?.answer.body

    expect([body(), body(), body()]).toEqual(['[1]', '[2]', '[1]'])
    layer.remove('two-halves')
    expect(trigger()).toBeUndefined()
  })
})
