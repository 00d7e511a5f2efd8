import { expect, onTestFinished } from 'vitest'
import { runFarewatch, startInTest } from '../support/child-process.ts'
import { startSmtpServer } from '../support/smtp-server.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'

it('a worker that only delivers asks the owner of an address for the confirmation', async ({
  databaseUrl,
}) => {
  const server = await startSmtpServer()
  onTestFinished(() => server.close())
  const env = {
    DATABASE_URL: databaseUrl,
    ENCRYPTION_KEY: 'a key of thirty-two characters!!',
    SMTP_URL: `smtp://127.0.0.1:${server.port}`,
    EMAIL_FROM: 'fares@seller.example',
    EMAIL_ALLOWED: 'agency.example',
    PUBLIC_URL: 'https://fares.example',
    ADMIN_PORT: '0',
  }
  const run = async (args: readonly string[]) => {
    const { exit, stderr } = await runFarewatch(args, env)
    expect(exit, stderr).toBe(0)
  }
  await run(['resellers', 'create', 'northwind'])
  const endpoint = ['--format', 'email', '--target', 'ana@agency.example']
  await run(['endpoints', 'create', '--reseller', 'northwind', ...endpoint])

  const _worker = startInTest(['worker', '--roles', 'deliver'], env)
  const mail = await until('the message', () => server.mails[0])

  expect(mail.to).toEqual(['ana@agency.example'])
  expect(mail.raw).toContain('https://fares.example/api/v1/email/confirm/')
})
