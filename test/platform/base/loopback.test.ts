import { expect, it } from 'vitest'
import { isLoopback, isLoopbackHost } from '../../../src/platform/base/loopback.ts'

it.each(['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1'])(
  '%s is reachable from this machine only',
  (address) => {
    expect(isLoopback(address)).toBe(true)
  },
)

it.each(['0.0.0.0', '::', '10.0.0.1', '128.0.0.1', 'fe80::1', '::ffff:10.0.0.1'])(
  '%s is reachable from other machines',
  (address) => {
    expect(isLoopback(address)).toBe(false)
  },
)

it.each(['localhost', 'LOCALHOST:9091', 'localhost.', '127.0.0.1:9091', '[::1]:9091', '127.1'])(
  'the host %s names this machine itself',
  (host) => {
    expect(isLoopbackHost(host)).toBe(true)
  },
)

it.each([
  'attacker.example',
  'attacker.example:9091',
  'localhost.attacker.example',
  '127.0.0.1.attacker.example',
  '10.0.0.1:9091',
  '0.0.0.0',
  'localhost@attacker.example',
  '',
])('the host "%s" may belong to anybody', (host) => {
  expect(isLoopbackHost(host)).toBe(false)
})
