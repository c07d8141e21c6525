-- Takes tasks out of circulation, marked with where they go. ARGV: the address, then six for each: id, and state,
-- epoch, attempts, deaths and nonce as it was packed. Returns for each when it departed, or nothing: it stays.
local time = now()
local reply = {}
for i = 2, #ARGV, 6 do
  local id = ARGV[i]
  local cell = read(id)
  local same = cell and cell.state == ARGV[i + 1] and (cell.epoch or '0') == ARGV[i + 2]
    and (cell.attempts or '0') == ARGV[i + 3] and (cell.deaths or '0') == ARGV[i + 4] and (cell.by or '') == ARGV[i + 5]
  if same then
    if cell.key and redis.call('HGET', at('keys'), cell.key) == id then
      redis.call('HDEL', at('keys'), cell.key)
    end
    forget_waits(id, cell)
    cell.to, cell.departed, cell.was = ARGV[1], whole(time), cell.state
    cell.ended = redis.call('ZSCORE', at(cell.state), id) or nil
    stand(id, cell, 'leaving', time)
  end
  local gone = cell and cell.state == 'leaving' and cell.to == ARGV[1]
  reply[#reply + 1] = gone and cell.departed or ''
end
return done(reply)
