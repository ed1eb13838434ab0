-- Who asks is kept as one text that only the asker reads: Codex is not the only one who asks. The host stays a column of its
-- own, because its row is kept as long as a request names it, and is empty where no host asks.
alter table request rename column host to asking_host;
alter table request add column host text;
alter table request add column origin text not null default '{}';
update request set
    host = nullif(asking_host, ''),
    origin = json_object(
        'from', 'codex',
        'id', case when json_valid(rpc_id) then json(rpc_id) end,
        'method', method,
        'thread', nullif(thread, ''),
        'turn', null,
        'item', item
    );
alter table request drop column asking_host;
alter table request drop column thread;
alter table request drop column rpc_id;
alter table request drop column method;
alter table request drop column item;
