import { describe, expect, it } from 'vitest'
import type { Answer, OperationName } from '../../../sandbox/answer.ts'
import { createFaultLayer } from '../../../sandbox/faults/fault-layer.ts'
import {
  FAULT_NAMES,
  type FaultRule,
  parseFaultText,
  readRules,
  SandboxFaultError,
} from '../../../sandbox/faults/fault-rule.ts'
import { manualClock, START } from '../support.ts'

describe('fault rules', () => {
  it('accept every fault name', () => {
    expect(readRules(FAULT_NAMES.map((name) => ({ name }))).map(({ name }) => name)).toEqual(
      FAULT_NAMES,
    )
  })

  it('apply with "all" only to the endpoints of the fault', () => {
    expect(readRules([{ name: 'half-list' }])[0]?.endpoints).toEqual([
      'routes',
      'with-availability',
    ])
  })

  it.each([
    [{}, /^fault rules are an array/],
    [['half-list'], /^fault rule 1 is not an object$/],
    [[{}], /^fault rule 1: name is missing, but must be one of status, /],
    [[{ name: 'half-list' }, { name: 'toString' }], /^fault rule 2: name is "toString", but/],
    [
      [{ name: 'half-list', endpoint: 'verify' }],
      /\(half-list\): endpoint is "verify", but must be one of all, routes, with-availability$/,
    ],
    [[{ name: 'status', endpoint: 'rotes' }], /\(status\): endpoint is "rotes"/],
    [
      [{ name: 'status', probability: 1.1 }],
      /probability is 1.1, but must be a number from 0 to 1$/,
    ],
    [[{ name: 'status', probability: '1' }], /probability is "1"/],
    [[{ name: 'status', durationSeconds: -1 }], /durationSeconds is -1/],
    [
      [{ name: 'status', durationSeconds: 0 }],
      /durationSeconds is 0, but must be a number above 0, to 2592000$/,
    ],
    [[{ name: 'status', code: 99 }], /code is 99, but must be a whole number from 200 to 599$/],
    [[{ name: 'status', code: 500.5 }], /code is 500.5/],
    [
      [{ name: 'status', ms: 5 }],
      /it has no parameter "ms"; its parameters are name, endpoint, probability, durationSeconds, code, retryAfter, seconds$/,
    ],
    [
      [{ name: 'rate-limited', retryAfter: 'never' }],
      /retryAfter is "never", but must be one of seconds, date, missing, absurd, garbage, past-date, negative, duplicate$/,
    ],
    [[{ name: 'redirect', to: 'ftp://x' }], /to is "ftp:\/\/x", but must be an http or https URL$/],
    [[{ name: 'wrong-type', type: 'a\r\nb: c' }], /type is .*, but must be a media type/],
  ])('%j are rejected with a reason', (given, reason) => {
    expect(() => readRules(given)).toThrow(SandboxFaultError)
    expect(() => readRules(given)).toThrow(reason)
  })
})

describe('the text of a fault rule', () => {
  it.each([
    ['hang', { name: 'hang' }],
    ['half-list:routes', { name: 'half-list', endpoint: 'routes' }],
    [
      'status:verify:0.2:60,code=503',
      { name: 'status', endpoint: 'verify', probability: 0.2, durationSeconds: 60, code: 503 },
    ],
    ['latency:::30,ms=500', { name: 'latency', durationSeconds: 30, ms: 500 }],
    [
      'redirect,code=301,to=http://127.0.0.1:9/x?a=b',
      { name: 'redirect', code: 301, to: 'http://127.0.0.1:9/x?a=b' },
    ],
  ])('%s is parsed', (text, rule) => {
    expect(parseFaultText(text)).toEqual(rule)
    expect(readRules([parseFaultText(text)]).length).toBe(1)
  })

  it.each(['hang:all:1:5:6', 'status,503', 'status,=503', 'status,'])(
    '%s is refused with the form that it should have',
    (text) => {
      expect(() => parseFaultText(text)).toThrow(SandboxFaultError)
      expect(() => parseFaultText(text)).toThrow('NAME[:endpoint][:probability][:seconds]')
    },
  )
})

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
})
