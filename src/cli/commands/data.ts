import { type Command, Option } from 'commander'
import { TABLE_FORMATS } from '../../platform/base/kinds.ts'
import { YES } from '../confirm.ts'
import { add, type Commands, help, load } from '../describe.ts'
import { dateOption, instantOption } from '../option-parsers.ts'

export const COMMANDS: Commands = {
  migrate: addMigrate,
  restored: addRestored,
  sql: addSql,
  psql: addPsql,
  export: addExport,
  rollup: addRollup,
  history: addHistory,
  analysts: addAnalysts,
  mcp: addMcp,
}

function addMigrate(program: Command): void {
  help(program, {
    remark: 'DATABASE_URL names the database.',
  })
    .option('--wait', 'wait for the end of processes that the new schema would stop')
    .action(load('database', 'migrateNow'))
}

function addRestored(program: Command): void {
  help(program, {
    remark: `
Run it before the services start, and once more for each earlier restore of the same backup. It is not needed after
pg_restore or a recovery from archived WAL: the next start finds another database or timeline, and begins a generation.`,
  }).action(load('database', 'beginAgain'))
}

function addSql(program: Command): void {
  help(program.argument('<statement>'), {
    examples: ['"select count(*) from farewatch.routes_current"'],
    remark: 'With --json each row is a line, and instants are ISO 8601.',
  })
    .option('--csv', 'print CSV')
    .addOption(
      new Option('--raw', 'write CSV as COPY of PostgreSQL does, without a time limit').conflicts(
        'csv',
      ),
    )
    .action(load('database', 'runSql'))
}

function addPsql(program: Command): void {
  help(program).action(load('database', 'printConnection'))
}

const EXPORT_TEXT = `
Writes one file a table, and the manifest export.json at last. With --state each
run takes what is new, exactly once, as Parquet: the records and intervals that no
earlier run took, and the views of the present whole. A run that is killed before
its manifest takes nothing. Of s3://bucket/prefix the endpoint, the region and the
credentials are those of AWS_ENDPOINT_URL, AWS_REGION and the other variables of AWS.`

function addExport(program: Command): void {
  help(program.argument('<tables...>'), {
    examples: ['all --to warehouse --state warehouse.json'],
    remark: EXPORT_TEXT,
  })
    .addOption(
      new Option('--format <format>', 'the file format').choices(TABLE_FORMATS).default('parquet'),
    )
    .option(
      '--from <from>',
      'only rows from a number of a feed on, or new since an instant',
      (text) => (/^\d{1,15}$/.test(text) ? Number(text) : instantOption(text)),
    )
    .requiredOption('--to <place>', 'a folder or s3://bucket/prefix; - means standard output')
    .option('--state <file>', 'take what is new since the last run with this file')
    .action(load('history', 'writeTables'))
}

function addRollup(program: Command): void {
  help(program, {
    examples: ['--from 2026-01-31'],
  })
    .option('--from <date>', 'compute all days since this one again', instantOption)
    .action(load('history', 'rollUp'))
}

function addAnalysts(program: Command): void {
  add(
    program,
    'create <name>',
    'Create a login that may read the public SQL and nothing else, and print how to connect',
    { examples: ['mara'] },
  ).action(load('history', 'makeAnalyst'))
}

const MCP_TEXT = `
An assistant starts it, and speaks on its standard input and output. It reads with
the key of FAREWATCH_KEY from FAREWATCH_URL, as every command does. If DATABASE_URL
has the login of an analyst, there is a tool for questions in SQL too. It needs a
package: npm install --no-save @modelcontextprotocol/server`

function addMcp(program: Command): void {
  help(program, { remark: MCP_TEXT }).action(load('mcp', 'serveMcp'))
}

const EXIT_TEXT = `
Exits with 0 if nothing differs, and with 1 if something does, no accepted list
is kept or another proof runs; --json says which.`

const PRUNE_TEXT = `
Refuses unless the export has all of these rows and its files have the hashes of
their manifests: first run "export all watch_changes". What is current stays, and
so does what deliveries still need. Workers may run meanwhile. If it is
interrupted, run it again. Keep the export: afterwards only it has these rows.`

function addHistory(group: Command): void {
  add(
    group,
    'prove',
    'Compare the history of routes with the kept lists, and the feeds with the histories',
    { remark: EXIT_TEXT },
  ).action(load('history', 'prove'))
  add(group, 'prune', 'Delete the history before a date, once an export has it', {
    examples: ['--before 2026-01-01 --export warehouse'],
    remark: PRUNE_TEXT,
  })
    .requiredOption('--before <date>', 'the first day that stays, in UTC', dateOption)
    .requiredOption('--export <place>', 'the folder or s3://bucket/prefix of the export')
    .option(...YES)
    .action(load('history', 'prune'))
}
