import { expect, it } from 'vitest'
import { isLoopback } from '../../src/cli/commands/service-commands.ts'

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
