import { describe, expect, it } from 'vitest'
import {
  type GivenTarget,
  shownTarget,
  targetFaults,
} from '../../src/delivery/endpoints/endpoint-settings.ts'
import { NO_CHATS } from './message-fixtures.ts'

const RULES = {
  urls: { allowHttp: false, allowedNetworks: [] },
  chatHosts: { ...NO_CHATS, slack: ['hooks.slack.com', 'localhost'] },
  email: {
    smtpUrl: 'smtp://mail.example',
    from: 'fares@seller.example',
  },
}
const HOURLY = { type: 'interval', every: '1h' } as const

describe('the target of an endpoint', () => {
  it.each<[GivenTarget, string | undefined]>([
    [{ format: 'webhook', target: 'https://shop.example/hook', digest: null }, undefined],
    [{ format: 'webhook', target: 'http://shop.example/hook', digest: null }, 'target must begin'],
    [{ format: 'webhook', target: 'https://shop.example/', digest: HOURLY }, 'digest is for slack'],
    [{ format: 'webhook', target: 'ana@agency.example', digest: null }, 'target must be a URL'],
    [{ format: 'slack', target: 'https://hooks.slack.com/services/x', digest: HOURLY }, undefined],
    [{ format: 'slack', target: 'https://shop.example/hook', digest: null }, 'target must be the'],
    [{ format: 'slack', target: 'https://localhost/hook', digest: null }, 'target must not name'],
    [{ format: 'email', target: 'ana@agency.example', digest: HOURLY }, undefined],
    [{ format: 'email', target: 'ana@', digest: null }, 'target must be an e-mail address'],
    [
      {
        format: 'email',
        target: 'ana@agency.example',
        digest: { type: 'daily', hour: 7, zone: 'CET+1' },
      },
      'digest zone must be',
    ],
  ])('%j has the fault %s', (given, expected) => {
    const found = Object.entries(targetFaults(given, RULES)).filter(([, fault]) => fault)

    expect(found.map(([field, fault]) => `${field} ${fault}`)).toEqual(
      expected === undefined ? [] : [expect.stringContaining(expected)],
    )
  })

  it.each([
    ['webhook', 'https://shop.example:8443/hooks/canary-token-9f3a', 'shop.example:8443/…9f3a'],
    ['webhook', 'http://127.0.0.1:9/a?key=canary-9f3a', 'http://127.0.0.1:9/…9f3a'],
    ['webhook', 'https://shop.example/canary', 'shop.example/…'],
    ['slack', 'https://hooks.slack.com/services/T0/B0/canary9f3a', 'hooks.slack.com/…9f3a'],
    ['email', 'canary@agency.example', 'c…@agency.example'],
  ] as const)('of %s %s is shown as %s', (format, target, shown) => {
    expect(shownTarget({ format, target })).toBe(shown)
  })
})
