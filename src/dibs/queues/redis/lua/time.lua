return whole(now())
