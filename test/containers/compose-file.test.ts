import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/platform/config/config.ts'
import { SETTINGS } from '../../src/platform/config/settings.ts'
import { COMPOSE, OURS, ROOT, SERVICES, serviceOf, withDefaults } from './compose-file.ts'

/** Settings that the image fixes. */
const FIXED_BY_THE_IMAGE = new Set(['API_HOST', 'API_PORT', 'ADMIN_HOST', 'ADMIN_PORT'])
const EMBEDDED_ALONE = new Set(['FAREWATCH_HOME', 'DEMO_FAULTS', 'DEMO_HISTORY_DAYS'])

describe('docker-compose.yml', () => {
  it('runs the image in every role of the program, and the stores that it needs', () => {
    const roles = OURS.map(([name, { command }]) => [name, command?.[0]])

    expect(roles).toEqual(['migrate', 'api', 'worker', 'sandbox', 'demo'].map((one) => [one, one]))
    expect(Object.keys(COMPOSE.services)).toEqual(
      expect.arrayContaining(['postgres', 'redis', 'prometheus', 'grafana']),
    )
  })

  it.each(SERVICES)(
    'gives %s no extra privileges, a read-only file system and limits of memory, CPU and logs',
    (_name, service) => {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        tmpfs: expect.arrayContaining(['/tmp']),
        mem_limit: expect.stringMatching(/^\d+[mg]$/),
        cpus: expect.any(Number),
        logging: { options: { 'max-size': expect.any(String), 'max-file': expect.any(String) } },
      })
      expect(service.privileged).toBeUndefined()
    },
  )

  it('makes the services wait for the migration, and the migration for the database', () => {
    expect(serviceOf('migrate').depends_on).toEqual({ postgres: { condition: 'service_healthy' } })
    for (const name of ['api', 'worker']) {
      expect(serviceOf(name).depends_on).toMatchObject({
        migrate: { condition: 'service_completed_successfully' },
        redis: { condition: 'service_healthy' },
      })
    }
  })

  it('keeps the data of the stores in volumes, and Redis appends to a file and never evicts', () => {
    const command = serviceOf('redis').command?.join(' ')

    expect(command).toContain('--appendonly yes')
    expect(command).toContain('--maxmemory-policy noeviction')
    expect(serviceOf('redis').volumes).toContain('redis-data:/data')
    expect(serviceOf('postgres').volumes).toContain('postgres-data:/var/lib/postgresql')
  })
})

describe('the settings in docker-compose.yml', () => {
  const secrets = Object.entries(SETTINGS).filter(([, { secret }]) => secret)
  const known = new Set([...Object.keys(SETTINGS), ...secrets.map(([name]) => `${name}_FILE`)])

  it.each(OURS)('are all known to the program, for %s', (_name, { environment = {} }) => {
    expect(Object.keys(environment).filter((name) => !known.has(name))).toEqual([])
  })

  it.each(['api', 'worker'])(
    'are complete for %s, so that every setting of .env takes effect',
    (name) => {
      const given = Object.keys(serviceOf(name).environment ?? {})
      const wanted = Object.entries(SETTINGS)
        .filter(([setting]) => !FIXED_BY_THE_IMAGE.has(setting) && !EMBEDDED_ALONE.has(setting))
        .map(([setting, { secret }]) => (secret ? `${setting}_FILE` : setting))

      expect(new Set(given)).toEqual(new Set(wanted))
    },
  )

  it.each(OURS)(
    'keep secrets in files, for %s',
    (_name, { environment = {}, secrets: mounted = [] }) => {
      const open = secrets.map(([name]) => name).filter((name) => name in environment)
      const files = Object.entries(environment)
        .filter(([name]) => name.endsWith('_FILE'))
        .map(([, file]) => String(file))

      expect(open).toEqual([])
      expect(new Set(files)).toEqual(new Set(mounted.map((secret) => `/run/secrets/${secret}`)))
    },
  )

  it.each(OURS)(
    'are well-formed where the file gives them a value, for %s',
    (_name, { environment = {} }) => {
      const given = Object.entries(environment)
        .filter(([name, value]) => value !== null && !name.endsWith('_FILE'))
        .map(([name, value]) => [name, withDefaults(String(value))])

      expect(() => loadConfig(Object.fromEntries(given), '/nowhere')).not.toThrow()
    },
  )
})

const page = readFileSync(path.join(ROOT, 'docs/reference/deploying.md'), 'utf8')

/** The code in the first column of the page's tables. */
const firstCells = page
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .flatMap((line) =>
    [...(line.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1]),
  )

it('the page about deploying lists every service and every secret', () => {
  const secrets = Object.values(COMPOSE.secrets).map(({ file }) => path.basename(file))

  expect(firstCells).toEqual(expect.arrayContaining(SERVICES.map(([name]) => name)))
  expect(firstCells).toEqual(expect.arrayContaining(secrets))
})
