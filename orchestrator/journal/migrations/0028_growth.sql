-- What grows is found without reading all of it ---------------------------------------------------

CREATE INDEX inbox_of_chat ON inbox(chat_id, channel, id);
CREATE INDEX turn_name ON turn(substr(id, length(id) - 7));
CREATE INDEX outbox_preview ON outbox(turn_id) WHERE final = 0;
