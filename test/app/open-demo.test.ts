import { expect, it } from 'vitest'
import { whyNotOpen } from '../../src/app/settings-for.ts'
import type { Config } from '../../src/platform/config/settings.ts'

const SANDBOX = { API_HOST: '127.0.0.1', OPEN_DEMO: 'auto', UPSTREAM_BASE_URL: undefined } as const
const OWN = { ...SANDBOX, UPSTREAM_BASE_URL: 'http://127.0.0.1:8090' }

it.each([
  ['with the sandbox', SANDBOX, false, undefined],
  ['with the sandbox in a container', SANDBOX, true, /container/],
  ['with an upstream', OWN, false, /UPSTREAM_BASE_URL/],
  ['with an upstream and OPEN_DEMO=on', { ...OWN, OPEN_DEMO: 'on' }, true, undefined],
  ['with OPEN_DEMO=off', { ...SANDBOX, OPEN_DEMO: 'off' }, false, /OPEN_DEMO is off/],
  ['on all addresses', { ...SANDBOX, API_HOST: '0.0.0.0', OPEN_DEMO: 'on' }, false, /API_HOST/],
] as const)('up %s needs a key for this reason', (_case, config, inContainer, reason) => {
  const why = whyNotOpen(config as unknown as Config, inContainer)

  if (reason === undefined) expect(why).toBeUndefined()
  else expect(why).toMatch(reason)
})
