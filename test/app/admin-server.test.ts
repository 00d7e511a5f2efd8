import { describe, expect, it, onTestFinished } from 'vitest'
import { type AdminDeps, createAdminServer } from '../../src/app/admin-server.ts'
import { silentLog } from '../support/silent-log.ts'

/** The server of a process that makes progress, with what /livez needs. */
function adminServer(host: string) {
  const app = {
    log: silentLog,
    config: { ADMIN_HOST: host, DATABASE_URL: 'postgres://127.0.0.1/unused' },
  }
  const server = createAdminServer({ app, fault: () => null } as unknown as AdminDeps)
  onTestFinished(() => server.close())
  return async (named: string) => {
    const { statusCode } = await server.inject({ url: '/livez', headers: { host: named } })
    return statusCode
  }
}

describe('the admin server', () => {
  // Fault: A web page of another host reads the admin port by DNS rebinding.
  it('answers on loopback only requests that name this machine, so that no web page can read it', async () => {
    const statusFor = adminServer('127.0.0.1')

    expect(await statusFor('localhost:9091')).toBe(200)
    expect(await statusFor('127.0.0.1:9091')).toBe(200)
    expect(await statusFor('attacker.example:9091')).toBe(400)
    expect(await statusFor('localhost.attacker.example')).toBe(400)
  })

  it('answers on other addresses whatever name the request has, as Prometheus uses the name of a container', async () => {
    expect(await adminServer('0.0.0.0')('worker:9091')).toBe(200)
  })
})
