import { writeFile } from 'node:fs/promises'
import { describe, expect } from 'vitest'
import { runCommand } from '../support/run-command.ts'
import { it } from '../support/test-database.ts'
import { fareRows, fileOf, newReseller } from './watch-fixtures.ts'

const CSV = `list,reference,flight_id,return_flight_id,residents_adults,non_residents_adults,price_threshold_amount
summer,A-1,101,201,0,2,
summer,A-2,102,,1,0,10.50
winter,=B,101,201,00,2,
`
const HEADER =
  'list,reference,flight_id,return_flight_id,residents_adults,residents_children,residents_infants,' +
  'non_residents_adults,non_residents_children,non_residents_infants,price_threshold_amount,' +
  'price_threshold_percent,departs_on,min_interval_seconds,priority,max_delay_seconds,price_below_amount,price_below_currency,paid_amount,paid_currency,price_drop_amount,price_drop_percent,new_low_days,departure,destination,either_direction'

describe('farewatch watch-list', () => {
  it('the commands import, export, compare, pause and delete the watches of a reseller', async ({
    databaseUrl,
    db,
  }) => {
    const env = { DATABASE_URL: databaseUrl, UPSTREAM_BASE_URL: 'http://127.0.0.1:9' }
    const run = (...args: string[]) => runCommand(args, env)
    const lists = (verb: string, ...args: string[]) =>
      run('watch-lists', verb, ...args, '--reseller', 'northwind')
    const file = await fileOf('watches.csv', CSV)

    expect(await run('resellers', 'create', 'northwind')).toMatchObject({
      exit: 0,
      stdout: 'reseller northwind created\n',
    })
    expect(await run('resellers', 'create', 'northwind')).toMatchObject({
      exit: 1,
      stderr: 'farewatch: there is a reseller named "northwind" already\n',
    })
    expect(await run('resellers', 'create', '')).toMatchObject({ exit: 2, stdout: '' })
    const imported = await lists('import', file, '--json')
    expect(imported).toMatchObject({ exit: 0, stderr: '' })
    expect(JSON.parse(imported.stdout)).toEqual({
      added: 3,
      changed: 0,
      unchanged: 0,
      ended: 0,
      cleared: 0,
      invalid: 0,
      trackedFaresAdded: 2,
      trackedFaresEnded: 0,
      warnings: [],
    })
    expect((await lists('import', file)).stdout).toBe(
      '0 added, 0 changed, 3 unchanged; no tracked fares added, 0 ended\n',
    )

    const exported = await lists('export')
    expect(exported.stdout).toBe(
      [
        HEADER,
        'summer,A-1,101,201,0,0,0,2,0,0,,,,,normal,,,,,,,,,,,',
        'summer,A-2,102,,1,0,0,0,0,0,10.5,,,,normal,,,,,,,,,,,',
        "winter,'=B,101,201,0,0,0,2,0,0,,,,,normal,,,,,,,,,,,",
        '',
      ].join('\n'),
    )
    const yaml = await lists('export', '--list', 'winter', '--format', 'yaml')
    expect(yaml.stdout).toContain('- list: winter\n  reference: =B\n  flight_id: "101"\n')
    const unseen = await lists('export', '--list', 'summer', '--status', 'new')
    expect(unseen.stdout.split('\n')).toHaveLength(4)
    const bookable = await lists('export', '--state', 'bookable', '--place', 'PMI')
    expect(bookable).toMatchObject({ exit: 0, stdout: `${HEADER}\n` })
    expect(await lists('export', '--list', 'autumn')).toMatchObject({
      exit: 1,
      stderr: 'farewatch: the reseller has no watch list named "autumn"\n',
    })
    await writeFile(file, exported.stdout)
    expect((await lists('import', file)).stdout).toContain('3 unchanged')

    await writeFile(file, exported.stdout.replace('A-2,102', 'A-2,103').replace('A-1', 'A-0'))
    const diff = await lists('diff', file)
    expect(diff.stdout).toBe(
      [
        '+ summer  A-0',
        '- summer  A-1',
        '~ summer  A-2  flight_id: 102 -> 103',
        '1 to add, 1 to change, 1 unchanged; 1 not in the file, which an import does not change',
        '',
      ].join('\n'),
    )
    const json = await lists('diff', file, '--json')
    expect(
      json.stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line).kind),
    ).toEqual(['added', 'absent', 'changed'])

    const pause = await lists(
      'pause',
      '--list',
      'summer',
      '--reference',
      'A-1',
      '--reference',
      'A-2',
    )
    expect(pause.stdout).toBe('2 watches paused\n')
    const resume = await lists('resume', '--list', 'summer', '--reference', 'A-1', 'A-2')
    expect(resume.stdout).toBe('2 watches resumed\n')
    const deleted = await lists('delete', '--list', 'winter', '--yes')
    expect(deleted.stdout).toBe('the list "winter" and its watches deleted\n')

    const listed = await run('resellers', 'list', '--json')
    expect(JSON.parse(listed.stdout)).toMatchObject({ name: 'northwind', lists: 1, watches: 2 })
    expect((await run('resellers', 'list')).stdout).toContain('northwind')
    expect((await run('resellers', 'disable', 'northwind')).stdout).toBe(
      'reseller northwind disabled: 2 tracked fares ended\n',
    )
    expect((await fareRows(db)).every((fare) => fare.ended && fare.lane === null)).toBe(true)
    expect(await lists('import', file)).toMatchObject({
      exit: 1,
      stderr: 'farewatch: the reseller "northwind" is disabled\n',
    })
  })

  it('an import reports invalid rows, and imports the others only with --skip-invalid', async ({
    databaseUrl,
  }) => {
    const env = { DATABASE_URL: databaseUrl, UPSTREAM_BASE_URL: 'http://127.0.0.1:9' }
    const file = await fileOf('watches.csv', `${CSV}summer,A-9,1,,13,0,\nsummer,A-1,1,,1,0,\n`)
    await runCommand(['resellers', 'create', 'northwind'], env)
    const command = ['watch-lists', 'import', file, '--reseller', 'northwind']

    const refused = await runCommand(command, env)
    const skipped = await runCommand([...command, '--skip-invalid'], env)

    const errors = [
      '  line 5, residents_adults: must be a whole number from 0 to 12, not "13"',
      '  line 6, reference: "A-1" is already in the list "summer", on line 2',
      '',
    ].join('\n')
    expect(refused).toEqual({
      exit: 2,
      stdout: '',
      stderr: `farewatch: ${file}: 2 rows are invalid, nothing was imported\n${errors}`,
    })
    expect(skipped).toEqual({
      exit: 0,
      stdout:
        '3 added, 0 changed, 0 unchanged, 2 invalid and skipped; 2 tracked fares added, 0 ended\n',
      stderr: errors,
    })
  })

  it.for<[string, string | undefined, string]>([
    ['nowhere.csv', undefined, 'the file does not exist'],
    ['a.csv', `${CSV}summer,"A`, 'line 5: a quote is never closed'],
    ['a.yaml', '- list: summer\n  list: winter\n', 'line 2: Map keys must be unique'],
  ])(
    'an import reports what is wrong with %s (%#)',
    async ([name, content, message], { databaseUrl, db }) => {
      await newReseller(db, 'northwind')
      const env = { DATABASE_URL: databaseUrl, UPSTREAM_BASE_URL: 'http://127.0.0.1:9' }
      const file = content === undefined ? `/nowhere/${name}` : await fileOf(name, content)

      const outcome = await runCommand(
        ['watch-lists', 'import', file, '--reseller', 'northwind'],
        env,
      )

      expect(outcome).toMatchObject({ exit: 2, stdout: '' })
      expect(outcome.stderr).toMatch(/^farewatch: [^\n]*\n$/)
      expect(outcome.stderr).toContain(message)
    },
  )

  it.for([
    ['diff', 'FILE'],
    ['pause', '--list', 'summer'],
  ])('the command fails for an unknown reseller: %j', async (args, { databaseUrl }) => {
    const env = { DATABASE_URL: databaseUrl, UPSTREAM_BASE_URL: 'http://127.0.0.1:9' }
    const file = await fileOf('a.csv', CSV)
    const given = args.map((arg) => (arg === 'FILE' ? file : arg))

    const outcome = await runCommand(['watch-lists', ...given, '--reseller', 'unknown'], env)

    expect(outcome).toMatchObject({ exit: 1, stdout: '' })
    expect(outcome.stderr).toContain('there is no reseller named "unknown"')
  })
})
