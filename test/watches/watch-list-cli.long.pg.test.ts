import { appendFile, writeFile } from 'node:fs/promises'
import { describe, expect } from 'vitest'
import { runCommand } from '../support/run-command.ts'
import { it } from '../support/test-database.ts'
import { fareRows, fileOf, newReseller, watchRows } from './watch-fixtures.ts'

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
    const env = { DATABASE_URL: databaseUrl }
    const run = (line: string) => runCommand(line.split(' '), env)
    const lists = (line: string) => run(`watch-lists ${line} --reseller northwind`)
    const file = await fileOf('watches.csv', CSV)

    const made = [await run('resellers create northwind'), await run('resellers create northwind')]
    expect(made).toMatchObject([
      { exit: 0, stdout: 'reseller northwind created\n' },
      { exit: 1, stderr: 'farewatch: there is a reseller named "northwind" already\n' },
    ])
    expect(await lists('import nowhere.csv')).toMatchObject({
      exit: 2,
      stderr: 'farewatch: cannot read nowhere.csv: the file does not exist\n',
    })
    const imported = await lists(`import ${file} --json`)
    const nothing = { changed: 0, unchanged: 0, ended: 0, cleared: 0, invalid: 0, warnings: [] }
    expect(JSON.parse(imported.stdout)).toEqual({ added: 3, ...nothing })

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
    const yaml = await lists('export --list winter --format yaml')
    expect(yaml.stdout).toContain('- list: winter\n  reference: =B\n  flight_id: "101"\n')
    const bookable = await lists('export --state bookable --place PMI')
    expect(bookable).toMatchObject({ exit: 0, stdout: `${HEADER}\n` })
    await writeFile(file, exported.stdout)
    expect((await lists(`import ${file}`)).stdout).toContain('3 unchanged')

    await writeFile(file, exported.stdout.replace('A-2,102', 'A-2,103').replace('A-1', 'A-0'))
    const diff = await lists(`diff ${file}`)
    expect(diff.stdout).toBe(
      [
        '+ summer  A-0',
        '~ summer  A-2  flight_id: 102 -> 103',
        '- summer  A-1',
        '1 to add, 1 to change, 1 unchanged; 1 not in the file, which an import does not change',
        '',
      ].join('\n'),
    )

    const pause = await lists('pause --list summer --reference A-1 --reference A-2')
    expect(pause.stdout).toBe('2 watches paused\n')
    const resume = await lists('resume --list summer --reference A-1 A-2')
    expect(resume.stdout).toBe('2 watches resumed\n')
    const deleted = await lists('delete --list winter --yes')
    expect(deleted.stdout).toBe('the list "winter" and its watches deleted\n')

    expect((await run('resellers disable northwind')).stdout).toBe(
      'reseller northwind disabled: 2 tracked fares ended\n',
    )
    expect((await fareRows(db)).every((fare) => fare.ended && fare.lane === null)).toBe(true)
    expect(await lists(`import ${file}`)).toMatchObject({
      exit: 1,
      stderr: 'farewatch: the reseller "northwind" is disabled\n',
    })
  })

  it('an import names the invalid rows and saves no list, or leaves them out with --skip-invalid', async ({
    databaseUrl,
    db,
  }) => {
    const northwind = await newReseller(db, 'northwind')
    const env = { DATABASE_URL: databaseUrl }
    const header = 'list,reference,flight_id,residents_adults,non_residents_adults,departs_on\n'
    const good = 'summer,A-1,101,1,0,2099-08-01\n'
    const warned = 'autumn,B-1,LH-7,1,0,\n'
    const past = 'autumn,B-2,104,1,0,2020-01-02\n'
    const file = await fileOf('watches.csv', `${header}${good}${warned}${past}`)
    const verb = (name: string, ...options: string[]) =>
      runCommand(['watch-lists', name, file, '--reseller', 'northwind', ...options], env)
    const hasPassed = '  line 4, departs_on: 2020-01-02 has passed\n'

    // The API alone knows the dates of the watches that exist.
    const refused = `farewatch: ${file}: invalid rows, nothing was imported\n`
    expect(await verb('import')).toEqual({ exit: 2, stdout: '', stderr: `${refused}${hasPassed}` })
    await appendFile(file, `summer,A-9,1,13,0,\n${good}`)
    const own = [
      '  line 5, residents_adults: must be a whole number from 0 to 12, not "13"',
      '  line 6, reference: "A-1" is already in the list "summer", on line 2',
      '',
    ].join('\n')
    expect(await verb('import')).toEqual({ exit: 2, stdout: '', stderr: `${refused}${own}` })
    expect(await watchRows(db, northwind)).toEqual([])

    const more = Array.from({ length: 60 }, (_, i) => `autumn,C-${i},104,1,0,2020-01-02\n`)
    await appendFile(file, more.join(''))
    const skipped = await verb('import', '--skip-invalid')
    expect(skipped.stdout).toBe('2 added, 0 changed, 0 unchanged, 63 invalid and skipped\n')
    expect(skipped.stderr).toContain(`${own}${hasPassed}  line 7, departs_on: 2020`)
    expect(skipped.stderr).toContain(
      '  and 13 more invalid rows\nwarnings:\n  line 3, flight_id: is no number',
    )

    await writeFile(file, `${header}${more.join('')}`)
    expect((await verb('import')).stderr).toContain('\n  and 10 more invalid rows\n')

    await writeFile(file, `${header}summer,A-1,101,1,0,`)
    expect((await verb('diff')).stdout).toBe(
      '~ summer  A-1  departs_on: 2099-08-01 -> none\n' +
        '0 to add, 1 to change, 0 unchanged (watches that lose a setting: 1); 0 not in the file, which an import does not change\n',
    )
  })
})
