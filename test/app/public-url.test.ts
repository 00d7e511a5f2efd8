import { expect, it } from 'vitest'
import { publicUrlOf } from '../../src/platform/config/addresses.ts'
import { loadConfig } from '../../src/platform/config/config.ts'

it.each([
  [{ PUBLIC_URL: 'https://fares.example' }, 'https://fares.example'],
  [
    { PUBLIC_URL: 'https://fares.example/watched/', API_HOST: '0.0.0.0' },
    'https://fares.example/watched',
  ],
  [{}, 'http://127.0.0.1:8080'],
  [{ API_HOST: '::1', API_PORT: '8081' }, 'http://[::1]:8081'],
  [{ API_HOST: '0.0.0.0' }, undefined],
  [{ API_PORT: '0' }, undefined],
])('the public address with %j is %s', (env, address) => {
  expect(publicUrlOf(loadConfig(env, '/nowhere'))).toBe(address)
})
